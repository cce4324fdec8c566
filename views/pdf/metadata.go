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
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xmp="http://ns.adobe.com/xap/1.0/"
    xmlns:pdf="http://ns.adobe.com/pdf/1.3/">
<dc:format>application/pdf</dc:format>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>%s</rdf:li></rdf:Seq></dc:creator>
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:description>
<dc:language><rdf:Bag><rdf:li>%s</rdf:li></rdf:Bag></dc:language>
<xmp:CreatorTool>Candor</xmp:CreatorTool><xmp:CreateDate>%s</xmp:CreateDate><xmp:ModifyDate>%s</xmp:ModifyDate>
<pdf:Producer>Candor</pdf:Producer>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="r"?>`, escaped(p.title), escaped(p.author), escaped(p.subject), p.language, at, at)
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
	packed  bytes.Buffer       // a compressed stream
	offsets []int              // by the object's number
	faces   map[*face]*runeSet // with what is drawn
	codes   codes
	digest  [sha256.Size]byte // of fpdf's file
	xmp     int               // number of the XMP object
	names   []byte            // of the catalogue: the file in it
}

// repack compresses streams, embeds the fonts and the attachment, and puts the XMP
// object into the catalogue, which fpdf forgets. What follows the file, a signature,
// needs version 1.7 of the format.
func repack(file []byte, faces map[*face]*runeSet, codes codes, attached attachment) ([]byte, error) {
	table, trailer, start := bytes.LastIndex(file, []byte("\nxref\n"))+1, bytes.LastIndex(file,
		[]byte("trailer\n")), bytes.LastIndex(file, []byte("startxref\n"))
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

	out := repacked{offsets: make([]int, len(entries)), faces: faces, codes: codes, digest: sha256.Sum256(file)}
	out.Grow(len(file))
	out.WriteString("%PDF-1.7\n")
	out.attach(attached)
	for i, number := range order {
		end := table
		if i+1 < len(order) {
			end = offsets[order[i+1]]
		}
		if err := out.object(number, file[offsets[number]:end]); err != nil {
			return nil, err
		}
	}
	moved := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n%s\n", len(out.offsets), entries[0])
	for _, at := range out.offsets[1:] {
		fmt.Fprintf(&out, "%010d 00000 n \n", at)
	}
	size := fmt.Appendf(nil, "/Size %d\n", len(entries))
	root, ok := bytes.CutPrefix(file[trailer:start], append([]byte("trailer\n<<\n"), size...))
	if !ok {
		return nil, errUnknownFile
	}
	fmt.Fprintf(&out, "trailer\n<<\n/Size %d\n%sstartxref\n%d\n%%%%EOF\n", len(out.offsets), root, moved)
	return out.Bytes(), nil
}

// object writes one object of fpdf's.
func (r *repacked) object(number int, object []byte) error {
	const font, catalog, dictionaryEnd, end = "<</Type /Font\n/BaseFont /", "/Type /Catalog\n", "\n>>", "\nendobj\n"
	_, body, _ := bytes.Cut(object, []byte(" 0 obj\n"))
	body, ok := bytes.CutSuffix(body, []byte(end))
	if !ok {
		return errUnknownFile
	}
	switch {
	case bytes.HasPrefix(body, []byte("<</Length ")): // no filter yet
		const start, end = "\nstream\n", "\nendstream"
		dictionary, content, ok := bytes.Cut(body, []byte(start))
		content, whole := bytes.CutSuffix(content, []byte(end))
		if !ok || !whole {
			return errUnknownFile
		}
		if !bytes.Contains(dictionary, []byte("/Filter")) {
			r.stream(number, "", content)
			return nil
		}
	case bytes.HasPrefix(body, []byte(font)):
		family, _, _ := bytes.Cut(body[len(font):], []byte("\n"))
		return r.font(number, string(family))
	case bytes.HasPrefix(body, []byte("<< /Type /Metadata ")):
		r.xmp = number
	case bytes.Contains(body, []byte(catalog)):
		body = bytes.Replace(body, []byte(noNames), r.names, 1)
		body = fmt.Appendf(nil, "%s\n/Metadata %d 0 R%s", bytes.TrimSuffix(body, []byte(dictionaryEnd)), r.xmp, dictionaryEnd)
	}
	r.write(number, body)
	return nil
}

// write writes an object.
func (r *repacked) write(number int, body []byte) {
	r.offsets[number] = r.Len()
	fmt.Fprintf(r, "%d 0 obj\n%s\nendobj\n", number, body)
}

// stream writes an object that is only a stream, compressed. entries are more of
// its dictionary.
func (r *repacked) stream(number int, entries string, content []byte) {
	r.packed.Reset()
	z, _ := compressors.Get().(*zlib.Writer)
	defer compressors.Put(z)
	z.Reset(&r.packed)
	_, _ = z.Write(content) // a Buffer takes all
	_ = z.Close()
	r.offsets[number] = r.Len()
	fmt.Fprintf(r, "%d 0 obj\n<</Filter /FlateDecode /Length %d%s>>\nstream\n", number, r.packed.Len(), entries)
	r.Write(r.packed.Bytes())
	r.WriteString("\nendstream\nendobj\n")
}

// number returns the number of a new object.
func (r *repacked) number() int {
	r.offsets = append(r.offsets, 0)
	return len(r.offsets) - 1
}
