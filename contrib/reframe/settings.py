"""An example site: one machine without a batch system. Use your own site's settings instead."""

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
