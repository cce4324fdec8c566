package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const language = "en-AU"

// xmp is the document's properties as XMP.
func (p properties) xmp() []byte {
	escaped := func(s string) string {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(plainText(s))) // a Builder takes all
		return b.String()
	}
	at := p.created.UTC().Format(time.RFC3339)
	return fmt.Appendf(nil, `<?xpacket begin="`+"\uFEFF"+`" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmlns:pdf="http://ns.adobe.com/pdf/1.3/">
<dc:format>application/pdf</dc:format>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>%s</rdf:li></rdf:Seq></dc:creator>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:description>
<dc:language><rdf:Bag><rdf:li>%s</rdf:li></rdf:Bag></dc:language>
<xmp:CreatorTool>Candor</xmp:CreatorTool><xmp:CreateDate>%s</xmp:CreateDate><xmp:ModifyDate>%s</xmp:ModifyDate>
<pdf:Producer>Candor</pdf:Producer>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="r"?>`, escaped(p.title), escaped(p.author), escaped(p.subject), language, at, at)
}

var errNoCatalog = errors.New("the file doesn't end as fpdf ends it")

// linkMetadata puts the XMP object into the catalogue: fpdf writes it and
// forgets to. The catalogue is the last object, so only the place of the
// cross-reference table changes. XMP needs version 1.4 of the format.
func linkMetadata(file []byte) ([]byte, error) {
	const (
		dictionary = " 0 obj\n<< /Type /Metadata "
		end        = "\n>>\nendobj\nxref\n"
		start      = "startxref\n"
	)
	object, catalog, tail := bytes.LastIndex(file, []byte(dictionary)), bytes.LastIndex(file, []byte(end)), bytes.LastIndex(file, []byte(start))
	if object < 0 || catalog < object || tail < catalog {
		return nil, errNoCatalog
	}
	number := file[bytes.LastIndexByte(file[:object], '\n')+1 : object]
	entry := fmt.Sprintf("\n/Metadata %s 0 R", number)
	xref := catalog + len(entry) + len(end) - len("xref\n")
	out := make([]byte, 0, len(file)+len(entry)+1)
	if old := []byte("%PDF-1.3"); bytes.HasPrefix(file, old) {
		file[len(old)-1] = '4'
	}
	out = append(append(append(out, file[:catalog]...), entry...), file[catalog:tail+len(start)]...)
	return append(strconv.AppendInt(out, int64(xref), 10), "\n%%EOF\n"...), nil
}

// nameSubsets names the embedded fonts as the subsets that they are: a tag of
// six letters, a plus sign and the font's name. The family that fpdf knows a
// face by is as long as that, so that no object moves.
func nameSubsets(file []byte, faces map[*face]bool) {
	digest := sha256.Sum256(file)
	for f := range faces {
		var tag [6]byte
		seed := sha256.Sum256(append(digest[:], f.family...))
		for i := range tag {
			tag[i] = 'A' + seed[i]%26
		}
		old := []byte("/utf8" + f.family + f.style)
		for at := 0; ; at += len(old) {
			next := bytes.Index(file[at:], old)
			if next < 0 {
				break
			}
			at += next
			copy(file[at+1:], string(tag[:])+"+"+f.name)
		}
	}
}

// familyOf returns the family of a face: with fpdf's prefix and the style it is
// as long as the name with a subset's tag. n tells faces of one font apart.
func familyOf(name, style string, n int) string {
	return strings.ToLower(name) + strings.Repeat(string(rune('a'+n)), len("ABCDEF+")-len("utf8")-len(style))
}
