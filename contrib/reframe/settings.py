"""A site of one machine without a batch system: yours has its own."""

site_configuration = {
    "systems": [
        {
            "name": "here",
            "hostnames": [".*"],
            "partitions": [{"name": "local", "scheduler": "local", "launcher": "local", "environs": ["builtin"]}],
        }
    ],
    "environments": [{"name": "builtin", "cc": "", "cxx": "", "ftn": ""}],
}
