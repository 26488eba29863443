"""Comments and docstrings as Markdown."""
import re
import textwrap

COLUMNS = 119


def fenced(language, lines):
    """A block of code."""
    return [f"```{language}", *lines, "```"]


def escaped(text):
    """Text whose characters outside of code stand for themselves."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<])", r"\\\1", part).replace("](", "] (") for part in parts)


def wrapped(text):
    """The lines of a paragraph. Code is not broken, if it fits on a line."""
    kept = re.sub(r"`[^`]{1,80}`", lambda code: code.group(0).replace(" ", "\0"), escaped(text))
    return [line.replace("\0", " ") for line in textwrap.wrap(kept, COLUMNS, break_long_words=False, break_on_hyphens=False)]


def prose(lines, language):
    """The lines of a comment: paragraphs are wrapped, lines that are indented by two or more are examples in a language."""
    out, paragraph, example = [], [], []

    def flush():
        if paragraph:
            out.extend([*wrapped(" ".join(paragraph)), ""])
        if example:
            out.extend([*fenced(language, textwrap.dedent("\n".join(example)).rstrip("\n").split("\n")), ""])
        paragraph.clear()
        example.clear()

    for line in lines:
        if line.startswith("  ") and line.strip():
            if paragraph:
                flush()
            example.append(line)
        elif not line.strip():
            if example:
                example.append("")
            else:
                flush()
        else:
            if example:
                flush()
            paragraph.append(line.strip())
    flush()
    return out[:-1] if out and not out[-1] else out
