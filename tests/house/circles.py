"""Circles between the files of a crate: a file that needs one that needs it. Parents and their children are apart."""

import pathlib

import rust


def modules(source):
    """{module path: file} of a crate's `src` folder."""
    found = {}
    for path in sorted(source.rglob("*.rs")):
        if rust.is_test_file(path):
            continue
        parts = list(path.relative_to(source).with_suffix("").parts)
        if parts[-1] in ("mod", "lib", "main"):
            parts.pop()
        found[tuple(parts)] = path
    return found


def paths(all_tokens, at):
    """Every path in the `use` tree or expression that begins at `at`, as tuples of names."""
    prefix, index = [], at
    while index < len(all_tokens) and all_tokens[index].kind == "word":
        prefix.append(all_tokens[index].text)
        if index + 1 >= len(all_tokens) or all_tokens[index + 1].text != "::":
            break
        index += 2
    if index < len(all_tokens) and all_tokens[index].text == "{":
        last, index = rust.closing(all_tokens, index), index + 1
        while index < last:
            if all_tokens[index].kind == "word":
                yield from (tuple(prefix) + rest for rest in paths(all_tokens, index))
            depth = 0
            while index < last and (depth or all_tokens[index].text != ","):
                depth += (all_tokens[index].text == "{") - (all_tokens[index].text == "}")
                index += 1
            index += 1
    else:
        yield tuple(prefix)


def needed(module, text, known):
    """The modules that a module's code names."""
    found = rust.product_tokens(text)
    for index, token in enumerate(found):
        if token.text not in ("crate", "super", "self") or token.kind != "word":
            continue
        if index and found[index - 1].text in ("::", "("):
            continue
        for path in paths(found, index):
            names = list(path)
            if names[0] == "crate":
                place = names[1:]
            else:
                place = list(module)
                while names and names[0] in ("self", "super"):
                    if names.pop(0) == "super" and place:
                        place.pop()
                place += names
            while place and tuple(place) not in known:
                place.pop()
            if place and tuple(place) != module:
                yield tuple(place)


def related(one, other):
    """Whether one holds the other."""
    return one == other[:len(one)] or other == one[:len(other)]


def circles(source):
    """Groups of files that need each other, each as a sorted list of module paths."""
    known = modules(source)
    arrows = {
        module: {to for to in needed(module, path.read_text(), known) if not related(module, to)}
        for module, path in known.items()
    }
    # Tarjan's strongly connected components, with a stack of its own in place of recursion.
    order, low, on_stack, stack, groups = {}, {}, set(), [], []
    for start in arrows:
        if start in order:
            continue
        work = [(start, iter(sorted(arrows[start])))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, rest = work[-1]
            for to in rest:
                if to not in order:
                    order[to] = low[to] = len(order)
                    stack.append(to)
                    on_stack.add(to)
                    work.append((to, iter(sorted(arrows[to]))))
                    break
                if to in on_stack:
                    low[node] = min(low[node], order[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    group = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        group.append(member)
                        if member == node:
                            break
                    if len(group) > 1:
                        groups.append(sorted(group))
    return groups


def all_circles():
    """(crate, group) of every circle in the workspace."""
    for manifest in sorted(rust.ROOT.glob("crates/*/Cargo.toml")) + [rust.ROOT / "lab/Cargo.toml"]:
        source = manifest.parent / "src"
        for group in circles(pathlib.Path(source)):
            yield manifest.parent.name, ["::".join(module) or "lib" for module in group]
