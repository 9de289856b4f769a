"""Interleaved rounds: every arm once a round, forwards and backwards in turn (A B B A …), so that a drift of the machine
meets all arms alike."""

from .tools import Failed, say


def interleave(title, rounds, arms, remarks):
    """Runs every arm (name: function without arguments) once in each of `rounds` rounds. Returns by name the list of
    what the arm returned, None where it failed; what failed is added to `remarks`, each failure once."""
    results = {name: [] for name in arms}
    for number in range(rounds):
        names = list(arms) if number % 2 == 0 else list(reversed(arms))
        for name in names:
            say(f"bench: {title}, round {number + 1} of {rounds}: {name}")
            try:
                results[name].append(arms[name]())
            except Failed as failure:
                results[name].append(None)
                text = f"{name}: {failure}"
                if text not in remarks:
                    remarks.append(text)
    return results
