"""The C++ reference: the public declarations of each public header (cmake/headers.cmake), with their comments.

A small reader of declarations, for headers in the layout of this tree's .clang-format. It knows comments, namespaces, types and the ends of
declarations, and no more of C++: bodies of functions are left out, and so are private members
and other namespaces than those of users.
"""
import os
import re

from markdown import fenced, prose

TITLE = """# The C++ API, header by header

For users of the C++ library. Written by `tools/reference/write` from the comments of the public headers; a test keeps
it up to date. [The guide](../guide/cpp.md) shows how the parts are used together, and [ops.md](../ops.md) says what
the functions of `graph/ops` compute: of those headers only the types of options are listed here, except for gradients
and optimizers.

`#include <cleave/cleave.h>` brings the headers for programs; single ones are included as
`<cleave/graph/trace/trace.h>`. Names are in `namespace cleave`. `<cleave/optim.h>` brings optimizers as well, which
are in `namespace cleave::optim`.
"""

#: The namespaces whose names are listed.
NAMESPACES = {"cleave", "cleave::optim"}
#: Headers of graph/ops whose functions are listed, since they are no operations.
WHOLE = {"graph/ops/gradient.h", "graph/ops/optim.h"}


class Declaration:
    """One declaration, with its comment. A type has members."""

    def __init__(self, text, comment, trailing="", members=None, tail=""):
        self.text, self.comment, self.trailing, self.members, self.tail = text, comment, trailing, members, tail

    @property
    def name(self):
        head = re.sub(r"\[\[\w+(?:\(.*?\))?\]\]|decltype\(auto\)", " ", self.text, flags=re.DOTALL)
        if self.members is not None:
            return re.search(r"\b(?:struct|class|enum|union)\s+(?:class\s+)?([\w:]+)", without_templates(head)).group(1)
        alias = re.search(r"\busing\s+(\w+)\s*=", head)
        if alias:
            return alias.group(1)
        operator = re.search(r"\boperator\s*(\"\"\w+|\(\)|\[\]|[^\s\w(]+|\w+)\s*\(", head)
        if operator:
            return "operator" + operator.group(1)
        return re.search(r"([\w~]+)\s*(?:[(={]|\[|$)", without_templates(head)).group(1)

    @property
    def forward(self):
        return self.members is None and re.fullmatch(r"(?:template\s*<.*>\s*)?(?:class|struct|enum class|enum)\s+[\w<>:]+(?:\s*:\s*[\w:]+)?", self.text, re.DOTALL)


def without_templates(text):
    """The text without template arguments and without a leading `requires` clause."""
    before = None
    text = re.sub(r"^\s*template\s*", "", text)
    while before != text:
        before, text = text, re.sub(r"<[^<>()]*>", "", text)
    text = re.sub(r"^\s*requires\s+(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|[\w:!]+(?:\s*(?:&&|\|\|)\s*[\w:!]+)*)", "", text)
    return text.strip()


class Reader:
    """Reads the declarations of one header."""

    def __init__(self, path, text):
        self.path = path
        lines, skipping = [], False
        for line in text.split("\n"):  # preprocessor lines, with those that continue them, declare nothing
            directive = skipping or line.lstrip().startswith("#")
            skipping = directive and line.endswith("\\")
            lines.append("" if directive else line)
        self.text, self.at = "\n".join(lines), 0

    def head(self):
        """The comment at the top of the file, as lines."""
        lines = []
        for line in self.text.split("\n"):
            if not line.startswith("//"):
                break
            lines.append(line[2:].removeprefix(" "))
        self.at = sum(len(line) + 1 for line in self.text.split("\n")[:len(lines)])
        return lines

    def fail(self, message):
        line = self.text.count("\n", 0, self.at) + 1
        raise ValueError(f"{self.path}:{line}: {message}")

    def balanced(self):
        """Skips from an opening bracket to behind its partner."""
        partners, depth = {"(": ")", "{": "}", "[": "]"}, []
        while self.at < len(self.text):
            c = self.text[self.at]
            if self.text.startswith("//", self.at):
                self.at = self.text.find("\n", self.at)
                continue
            if c in "\"'" and not (c == "'" and self.text[self.at - 1].isalnum()):
                self.literal(c)
                continue
            if c in partners:
                depth.append(partners[c])
            elif depth and c == depth[-1]:
                depth.pop()
                if not depth:
                    self.at += 1
                    return
            self.at += 1
        self.fail("a bracket is not closed")

    def literal(self, quote):
        self.at += 1
        while self.text[self.at] != quote:
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at += 1

    def declarations(self, public=True, enumerators=False):
        """The declarations up to the closing brace of the scope that was entered, or to the end of the file."""
        found, comment, statement = [], [], ""
        while self.at < len(self.text):
            c = self.text[self.at]
            if self.text.startswith("//", self.at):
                comment, statement = self.comment(found, comment, statement, enumerators)
            elif c == "\n" and not statement.strip() and self.text.startswith("\n\n", self.at):
                comment = []
                self.at += 1
            elif c == "}":
                self.at += 1
                if enumerators and statement.strip():
                    found.append((public, Declaration(statement.strip(), comment)))
                return [declaration for shown, declaration in found if shown]
            elif c == ":" and re.fullmatch(r"\s*(public|private|protected)\s*", statement):
                public, statement, comment = statement.strip() == "public", "", []
                self.at += 1
            elif c == ";" or (c == "," and enumerators):
                self.at += 1
                if statement.strip():
                    found.append((public, Declaration(statement.strip(), comment)))
                statement, comment = "", []
            elif c in "([" or (c == "{" and self.in_expression(statement)):
                start = self.at
                self.balanced()
                statement += self.text[start:self.at]
            elif c == "{":
                declaration = self.body(statement.strip(), comment)
                found += [(public and shown, each) for shown, each in declaration]
                statement, comment = "", []
            elif c in "\"'":
                start = self.at
                self.literal(c)
                statement += self.text[start:self.at]
            else:
                statement += c
                self.at += 1
        return [declaration for shown, declaration in found if shown]

    def comment(self, found, comment, statement, enumerators):
        end = self.text.find("\n", self.at)
        line, self.at = self.text[self.at:end], end
        if line.startswith("///<"):
            text = line[4:].strip()
            if enumerators and statement.strip():  # the last enumerator has no comma
                found.append((True, Declaration(statement.strip(), comment, text)))
                return [], ""
            if found and not statement.strip():
                found[-1][1].trailing = (found[-1][1].trailing + " " + text).strip()
            return comment, statement
        if statement.strip() or re.match(r"// ---|//\s*(NOLINT|clang-format|IWYU)", line):
            return comment, statement
        return [*comment, line.lstrip("/").removeprefix(" ") if line.startswith("///") else line[2:].removeprefix(" ")], statement

    def in_expression(self, statement):
        """Whether the brace that follows belongs to an expression: an initial value or a requires-expression."""
        text = statement.rstrip()
        if re.search(r"(=|\brequires|\brequires\s*\([^)]*\)|,|\breturn)$", text) and not re.search(r"operator\s*=$", text):
            return True
        if without_initializers(text) != text and re.search(r"\w$", text):  # a member that a constructor initializes
            return True
        is_type = re.search(r"\b(struct|class|enum|union|namespace)\b(?![^<]*>)", text) or "(" in text
        return not is_type and bool(text) and not text.startswith(("extern", "namespace"))

    def body(self, head, comment):
        """Reads a namespace, a type, or the body of a function, from its opening brace on. Returns (shown, declaration) pairs."""
        namespace = re.fullmatch(r"(?:inline )?namespace\s*([\w:]*)", head)
        if namespace:
            self.at += 1
            inside = self.declarations()
            return [(True, each) for each in inside] if namespace.group(1) in NAMESPACES else []
        kind = re.match(r"(?:template\s*<.*>\s*)?(?:requires\s+.*\s)?(struct|class|enum|union)\b", head, re.DOTALL)
        if kind and "(" not in re.sub(r"\([^()]*\)", "", re.sub(r"^template\s*<.*>\s*", "", head)):
            self.at += 1
            members = self.declarations(kind.group(1) != "class", kind.group(1) == "enum")
            tail = self.until_semicolon()
            return [(True, Declaration(" ".join(head.split()), comment, members=members, tail=tail))]
        self.balanced()
        if self.text[self.at:self.at + 1] == ";":
            self.at += 1
        return [(True, Declaration(without_initializers(head), comment))]

    def until_semicolon(self):
        start = self.at
        while self.text[self.at] != ";":
            if self.text[self.at] in "({":
                self.balanced()
            else:
                self.at += 1
        self.at += 1
        return " ".join(self.text[start:self.at - 1].split())


def without_initializers(head):
    """The head of a constructor without the list of initial values."""
    depth = 0
    for at, c in enumerate(head):
        depth += (c in "({[") - (c in ")}]")
        if c == ":" and depth == 0 and head[:at].rstrip().endswith(")") and head[at - 1:at + 2].count(":") == 1:
            return head[:at].rstrip()
    return head


def hidden(declaration):
    """Whether a declaration is left out: forward declarations, friends, copies, moves and destructors."""
    text = declaration.text
    return bool(declaration.forward or re.match(r"(?:template\s*<[^>]*>\s*)?friend\b", text) or "~" in text or text.endswith("= delete")
                or re.search(r"(\w+)\((?:const )?\1\s*&&?\s*\w*\)", text) or re.search(r"operator=\((?:const )?\w+\s*&&?", text)
                or text.startswith("static_assert") or re.match(r"template\s*<>", text)
                or (declaration.members is not None and "::" in declaration.name))


def tidy(text):
    """A declaration on lines that are not indented below its own."""
    lines = text.split("\n")
    return "\n".join([lines[0]] + [line.rstrip() for line in lines[1:]])


def listing(declaration, depth=0):
    """The lines of a type as it stands in the header, without bodies and private members."""
    indent = "  " * depth
    lines = [f"{indent}{declaration.text} {{"]
    if "class" in declaration.text.split("{")[0].split()[:1] or re.match(r"template\s*<.*>\s*class\b", declaration.text):
        lines.append(f"{indent} public:")
    is_enum = declaration.text.split()[0] == "enum"
    for member in declaration.members:
        if hidden(member):
            continue
        lines += [f"{indent}  /// {line}".rstrip() for line in member.comment]
        if member.members is not None:
            lines += listing(member, depth + 1)
        else:
            # Continuation lines keep their indentation below the first.
            below = "  " if member.text.startswith("template") else "      "
            own = re.sub(r"\n\s*", "\n" + indent + below, member.text)
            lines.append(f"{indent}  {own}{',' if is_enum else ';'}" + (f"  ///< {member.trailing}" if member.trailing else ""))
    lines.append(f"{indent}}}{' ' + declaration.tail if declaration.tail else ''};" + (f"  ///< {declaration.trailing}" if declaration.trailing else ""))
    return lines


def grouped(declarations):
    """Declarations that one comment and one heading share: overloads, and lines below a comment without one of their own."""
    groups = []
    for declaration in declarations:
        last = groups[-1][-1] if groups else None
        same = last and last.members is None and declaration.members is None and (
            last.name == declaration.name or (not declaration.comment and last.name.startswith("operator") and declaration.name.startswith("operator")))
        if same:
            groups[-1].append(declaration)
        else:
            groups.append([declaration])
    return groups


def section(path, source):
    """The section of one header, or nothing if it shows nothing."""
    reader = Reader(path, source)
    head = reader.head()
    declarations = [each for each in reader.declarations() if not hidden(each)]
    if path.startswith("graph/ops/") and path not in WHOLE:
        declarations = [each for each in declarations if each.members is not None]
    if not declarations:
        return []
    lines = [f"## {path}", "", *prose(head, "cpp"), ""]
    for group in grouped(declarations):
        first = group[0]
        if first.members is not None:
            lines += [f"### {first.name}", "", *prose(first.comment, "cpp"), "", *fenced("cpp", listing(first)), ""]
            continue
        operators = len(group) > 1 and first.name.startswith("operator")
        lines += [f"### {'Operators' if operators else first.name}", ""]
        code = []
        for each in group:
            if each is not first and each.comment:
                lines += [*fenced("cpp", code), "", *prose(each.comment, "cpp"), ""] if code else []
                code = []
            elif each is first:
                lines += [*prose(each.comment, "cpp"), ""] if each.comment else []
            code += (tidy(each.text) + ";" + (f"  ///< {each.trailing}" if each.trailing else "")).split("\n")
        lines += [*fenced("cpp", code), ""]
    return lines


def public_headers(root):
    with open(os.path.join(root, "cmake", "headers.cmake"), encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r"^\s+((?:graph|partitioner|executor|models|kernel|include)/[\w/]+\.h)\b", text, re.MULTILINE)
    if not found:
        raise ValueError("cmake/headers.cmake: no headers")
    return found


def page(root):
    """The text of docs/reference/cpp.md."""
    lines = TITLE.split("\n")
    for path in public_headers(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            lines += section(path, file.read())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip("\n") + "\n"
