"""Pages of the C interface, from doxygen's XML of the public headers: a page a header, in the groups of its @defgroup."""
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(command, **more):
    done = subprocess.run(command, **more)
    if done.returncode != 0:
        sys.exit(f"tools/site: {' '.join(command)} ended with {done.returncode}")


def flat(node):
    """Text of an XML element, white space joined."""
    return " ".join("".join(node.itertext()).split()) if node is not None else ""


def escape(text):
    return text.replace("<", "&lt;").replace(">", "&gt;").replace("*", r"\*").replace("_", r"\_")


def cell(text):
    return escape(text).replace("|", r"\|")


def code(text):
    return f"`{text}`" if text and "`" not in text else text


def paragraph(para):
    """A paragraph of doxygen as Markdown: text, and the lists, parameters and notes in it as blocks of their own."""
    words, out = [escape(para.text or "")], []

    def close():
        text = " ".join("".join(words).split())
        words.clear()
        if text:
            out.append(text)

    for child in para:
        if child.tag in ("itemizedlist", "orderedlist"):
            close()
            out.append("\n".join(f"- {escape(flat(item))}" for item in child.findall("listitem")))
        elif child.tag == "parameterlist":
            close()
            rows = ["| parameter | |", "|---|---|"]
            for item in child.findall("parameteritem"):
                names = ", ".join(code(flat(n)) for n in item.findall("parameternamelist/parametername"))
                rows.append(f"| {names} | {cell(flat(item.find('parameterdescription')))} |")
            out.append("\n".join(rows))
        elif child.tag == "simplesect":
            close()
            title = {"return": "Returns", "see": "See", "note": "Note"}.get(child.get("kind"), child.get("kind"))
            out.append(f"**{title}** {escape(flat(child))}")
        elif child.tag in ("verbatim", "preformatted"):
            close()
            out.append("\n".join(["```", (child.text or "").strip("\n"), "```"]))
        else:
            text = flat(child)
            words.append(code(text) if child.tag == "computeroutput" else escape(text))
        words.append(escape(child.tail or ""))
    close()
    return out


def described(node):
    """Both descriptions of a member, block after block."""
    out = []
    for part in ("briefdescription", "detaileddescription"):
        for para in node.findall(f"{part}/para"):
            for block in paragraph(para):
                out += [block, ""]
    return out


def declaration(member):
    if member.get("kind") == "function":
        text = f"{flat(member.find('type'))} {flat(member.find('name'))}{flat(member.find('argsstring'))};"
        return text.replace("CMG_API ", "")
    if member.get("kind") == "define":
        return f"#define {flat(member.find('name'))} {flat(member.find('initializer'))}".rstrip()
    return flat(member.find("definition")) + ";"


def short(node):
    return " ".join(filter(None, (flat(node.find(p)) for p in ("briefdescription", "detaileddescription"))))


def member_page(member, source):
    out = [f"### {flat(member.find('name'))}", "", *source(member)]
    if member.get("kind") == "enum":
        rows = [f"| `{flat(v.find('name'))}` | {cell(short(v))} |" for v in member.findall("enumvalue")]
        out += ["| value | |", "|---|---|", *rows, ""]
    else:
        out += ["```c", declaration(member), "```", ""]
    return out + described(member)


def struct_page(compound, source):
    out = [f"### {flat(compound.find('compoundname'))}", "", *source(compound), *described(compound)]
    rows = []
    for member in compound.iter("memberdef"):
        shown = f"{flat(member.find('type'))} {flat(member.find('name'))}{flat(member.find('argsstring'))}"
        rows.append(f"| `{shown}` | {cell(short(member))} |")
    return out + (["| field | |", "|---|---|", *rows, ""] if rows else [])


GROUP = re.compile(r"@defgroup \w+ (.*?) \*/")


def groups_of(header):
    """[(line, title)] of the groups of a header."""
    with open(os.path.join(ROOT, "include", header), encoding="utf-8") as file:
        found = [(k, GROUP.search(line)) for k, line in enumerate(file, 1)]
    return [(k, group[1].strip()) for k, group in found if group]


def doxygen(output):
    """The folder of doxygen's XML; its warnings are errors."""
    shutil.rmtree(output, ignore_errors=True)
    os.makedirs(output)
    with open(os.path.join(ROOT, "docs", "api", "Doxyfile"), encoding="utf-8") as file:
        settings = file.read() + "\nGENERATE_XML = YES\nXML_PROGRAMLISTING = NO\n"
    run(["doxygen", "-"], input=settings, text=True, cwd=os.path.join(ROOT, "docs"), env=dict(os.environ, CMG_API_OUTPUT=output))
    return os.path.join(output, "xml")


def header_page(page, members, structs, link):
    """A header: its description, then its entries by line below the titles of their groups."""
    header = flat(page.find("compoundname"))

    def line_of(node):
        return int(node.find("location").get("line"))

    def source(node):
        return [f"[source]({link(os.path.join('include', header), line_of(node))}){{ .source }}", ""]

    named = {flat(m.find("name")) for m in members if m.get("kind") == "enum"}
    named |= {flat(c.find("compoundname")) for c in structs}  # typedef struct x x: one entry
    found = [(line, ["", f"## {title}", ""]) for line, title in groups_of(header)]
    found += [(line_of(m), member_page(m, source)) for m in members
              if in_header(m, header) and (m.get("kind") != "typedef" or flat(m.find("name")) not in named)]
    found += [(line_of(c), struct_page(c, source)) for c in structs if in_header(c, header)]
    out = [f"# {header}", "", *described(page)]
    for _, text in sorted(found, key=lambda pair: pair[0]):
        out += text
    return header, "\n".join(out) + "\n"


def in_header(node, header):
    return node.find("location").get("file").endswith(header)


def pages(output, link):
    """{name: Markdown} of every public header; `link(path, line)` is the address of a line of the source."""
    xml = doxygen(output)

    def compounds(*kinds):
        for entry in ElementTree.parse(os.path.join(xml, "index.xml")).getroot().findall("compound"):
            if entry.get("kind") in kinds:
                yield ElementTree.parse(os.path.join(xml, entry.get("refid") + ".xml")).getroot().find("compounddef")

    structs = list(compounds("struct"))
    members = {m.get("id"): m for compound in compounds("file", "group") for m in compound.iter("memberdef")
               if m.get("kind") in ("function", "enum", "typedef", "define") and not flat(m.find("name")).startswith("@")}
    made = (header_page(page, list(members.values()), structs, link) for page in compounds("file"))
    return {header.replace(".h", ""): text for header, text in made}
