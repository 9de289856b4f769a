"""The limits of limits.toml against their history: a limit only goes down, what a planned feature may add apart."""

import subprocess
import tomllib

import rust

LIMITS = "tests/house/limits.toml"


def raised(now, history):
    """What is wrong with the limits `now`, a line each. `history` holds the limits of commits, those without allowances among them.

    A limit may stand at its lowest value in history, and `code` above that by what named features have added. A feature adds no
    more than its allowance, and no allowance is raised or comes in.
    """
    past = [limits for limits in history if "allowance" in limits]
    wrong = []
    added = now.get("added", {})
    for feature, lines in added.items():
        most = min([limits["allowance"].get(feature, 0) for limits in [now, *past]])
        if lines > most:
            wrong.append(f"{feature} adds {lines} lines of code; its allowance is {most}")
    for feature, lines in now.get("allowance", {}).items():
        lowest = min([limits["allowance"].get(feature, 0) for limits in past], default=lines)
        if lines > lowest:
            wrong.append(f"the allowance of {feature} is {lines}; it was {lowest}")
    for name, limit in now["most"].items():
        least = [base(limits, name) for limits in past if name in limits["most"]]
        if least and base(now, name) > min(least):
            wrong.append(f"{name} may be {limit}; its lowest limit was {min(least) + extra(now, name)}")
    return wrong


def extra(limits, name):
    """What features have added to a limit."""
    return sum(limits.get("added", {}).values()) if name == "code" else 0


def base(limits, name):
    """A limit without what features have added to it."""
    return limits["most"][name] - extra(limits, name)


def git(*words):
    """What git prints, in this tree; none where it fails."""
    done = subprocess.run(["git", "-C", rust.ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def history():
    """The limits of every commit that changed them; none outside a checkout of git."""
    commits = git("log", "--full-history", "--format=%H", "--", LIMITS)
    if commits is None:
        return None
    found = []
    for commit in commits.split():
        text = git("show", f"{commit}:{LIMITS}")
        try:
            found.append(tomllib.loads(text or ""))
        except tomllib.TOMLDecodeError:
            continue
    return found
