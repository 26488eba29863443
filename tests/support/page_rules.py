#!/usr/bin/env python3
"""Checks a page of `cleave explain --html`: it is well-formed (read by expat), ids are unique, links lead to places on the page and nowhere
else, and tables have heads. Prints each violation and exits 1.
"""
import collections
import sys
import xml.etree.ElementTree as tree

XHTML = "{http://www.w3.org/1999/xhtml}"
LOADING = {"src", "srcset", "data", "action", "poster", "background"}


def name(element):
    return element.tag.replace(XHTML, "")


def offences(path):
    try:
        root = tree.parse(path).getroot()
    except tree.ParseError as error:
        yield f"not well-formed: {error}"
        return
    elements = list(root.iter())
    ids = collections.Counter(e.get("id") for e in elements if e.get("id") is not None)
    yield from (f"id {id!r} {count} times" for id, count in ids.items() if count > 1 or not id)
    for element in elements:
        for key, value in element.attrib.items():
            key = key.split("}")[-1]
            if key == "href" and value.startswith("#"):
                if value[1:] not in ids:
                    yield f"a link to {value}, which is not there"
            elif key in LOADING or (key == "href" and not value.startswith("data:")):
                yield f"<{name(element)} {key}={value!r}> leads out of the page"
            elif key.startswith("on"):
                yield f"<{name(element)} {key}> is a script"
            elif "url(" in value and name(element) != "meta":
                yield f"<{name(element)} {key}={value!r}> loads something"
    for section in root.iter(XHTML + "section"):
        if section.find(XHTML + "h2") is None:
            yield f"section {section.get('id')!r} without a heading"
    for table in root.iter(XHTML + "table"):
        head = table.find(f"{XHTML}thead/{XHTML}tr")
        if head is None or not all(cell.tag == XHTML + "th" and cell.get("scope") == "col" for cell in head):
            yield "a table without heads"
            continue
        for row in table.iterfind(f"{XHTML}tbody/{XHTML}tr"):
            if sum(int(cell.get("colspan", 1)) for cell in row) != len(head):
                yield f"row {row.get('id')!r} has other columns than its table"
    if len(list(root.iter(XHTML + "script"))) != 1:
        yield "not the one script"


found = [f"{path}: {offence}" for path in sys.argv[1:] for offence in offences(path)]
print("\n".join(found))
sys.exit(1 if found else 0)
