package pdf

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
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

var errUnknownFile = errors.New("the file doesn't end as fpdf ends it")

// compressors are shared by documents, because each takes 1.2 MB.
var compressors = sync.Pool{New: func() any {
	z, _ := zlib.NewWriterLevel(nil, zlib.BestSpeed) // the level exists
	return z
}}

// A repacked is a file of fpdf's that is written again, object by object, with
// what fpdf can't do.
type repacked struct {
	bytes.Buffer
	packed bytes.Buffer      // a compressed stream
	names  *strings.Replacer // of the fonts
	xmp    []byte            // number of the XMP object
}

// repack compresses streams, names the fonts as the subsets that they are, and
// puts the XMP object into the catalogue, which fpdf forgets. XMP needs version
// 1.4 of the format.
func repack(file []byte, faces map[*face]bool) ([]byte, error) {
	table, trailer, start := bytes.LastIndex(file, []byte("\nxref\n"))+1, bytes.LastIndex(file, []byte("trailer\n")), bytes.LastIndex(file, []byte("startxref\n"))
	if table == 0 || trailer < table || start < trailer {
		return nil, errUnknownFile
	}
	entries := bytes.Split(bytes.TrimSpace(file[table:trailer]), []byte("\n"))[2:] // after the table's name and size
	offsets, order := make([]int, len(entries)), make([]int, 0, len(entries))
	for number := 1; number < len(entries); number++ { // 0 is no object
		at, err := strconv.Atoi(string(entries[number][:10]))
		if err != nil || at > table {
			return nil, errUnknownFile
		}
		offsets[number], order = at, append(order, number)
	}
	slices.SortFunc(order, func(a, b int) int { return offsets[a] - offsets[b] })

	out := repacked{names: subsetNames(file, faces)}
	out.WriteString("%PDF-1.4\n")
	for i, number := range order {
		end := table
		if i+1 < len(order) {
			end = offsets[order[i+1]]
		}
		object := file[offsets[number]:end]
		offsets[number] = out.Len()
		if err := out.object(object); err != nil {
			return nil, err
		}
	}
	moved := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n%s\n", len(entries), entries[0])
	for _, at := range offsets[1:] {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	fmt.Fprintf(&out, "%s%d\n%%%%EOF\n", file[trailer:start+len("startxref\n")], moved)
	return out.Bytes(), nil
}

// object writes one object.
func (r *repacked) object(object []byte) error {
	const catalog, end = "/Type /Catalog\n", "\n>>\nendobj\n"
	number, body, _ := bytes.Cut(object, []byte(" 0 obj\n"))
	switch {
	case bytes.HasPrefix(body, []byte("<</Length ")): // no filter yet
		return r.stream(number, body)
	case bytes.HasPrefix(body, []byte("<</Type /Font")):
		_, err := r.names.WriteString(r, string(object))
		return err
	case bytes.HasPrefix(body, []byte("<< /Type /Metadata ")):
		r.xmp = number
	case bytes.Contains(body, []byte(catalog)):
		fmt.Fprintf(r, "%s\n/Metadata %s 0 R%s", bytes.TrimSuffix(object, []byte(end)), r.xmp, end)
		return nil
	}
	_, err := r.Write(object)
	return err
}

// stream writes an object that is only a stream, compressed.
func (r *repacked) stream(number, body []byte) error {
	const start, end = "\nstream\n", "\nendstream\nendobj\n"
	dictionary, content, ok := bytes.Cut(body, []byte(start))
	content, whole := bytes.CutSuffix(content, []byte(end))
	if !ok || !whole {
		return errUnknownFile
	}
	if bytes.Contains(dictionary, []byte("/Filter")) {
		fmt.Fprintf(r, "%s 0 obj\n", number)
		_, err := r.Write(body)
		return err
	}
	r.packed.Reset()
	z, _ := compressors.Get().(*zlib.Writer)
	defer compressors.Put(z)
	z.Reset(&r.packed)
	if _, err := z.Write(content); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Fprintf(r, "%s 0 obj\n<</Filter /FlateDecode /Length %d>>%s%s%s", number, r.packed.Len(), start, r.packed.Bytes(), end)
	return nil
}

// subsetNames replaces the names that fpdf gives fonts with those of subsets: a
// tag of six letters, a plus sign and the font's name.
func subsetNames(file []byte, faces map[*face]bool) *strings.Replacer {
	digest := sha256.Sum256(file)
	var names []string
	for f := range faces {
		var tag [6]byte
		seed := sha256.Sum256(append(digest[:], f.family...))
		for i := range tag {
			tag[i] = 'A' + seed[i]%26
		}
		names = append(names, "/utf8"+f.family, "/"+string(tag[:])+"+"+f.name)
	}
	return strings.NewReplacer(names...)
}
