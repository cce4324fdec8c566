package pdfsign

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

var errUnknownFile = errors.New("sign PDF: the file isn't as views/pdf writes it")

// A file is a PDF with one cross-reference table.
type file struct {
	bytes            []byte
	table            int // where the entry of object 0 is
	xref             int // where the table is
	size, root, info int // of the trailer
}

// ending is how such a file ends.
var ending = regexp.MustCompile(`\ntrailer\n<<\n/Size (\d+)\n/Root (\d+) 0 R\n/Info (\d+) 0 R\n>>\nstartxref\n(\d+)\n%%EOF\n$`)

func parse(pdf []byte) (*file, error) {
	const most = 200 // the ending's length
	tail := pdf[max(0, len(pdf)-most):]
	match := ending.FindSubmatch(tail)
	if match == nil {
		return nil, errUnknownFile
	}
	f := &file{bytes: pdf}
	for i, to := range []*int{&f.size, &f.root, &f.info, &f.xref} {
		var err error
		if *to, err = strconv.Atoi(string(match[i+1])); err != nil {
			return nil, errUnknownFile
		}
	}
	head := fmt.Appendf(nil, "xref\n0 %d\n", f.size)
	f.table = f.xref + len(head)
	if f.table+f.size*entrySize > len(pdf) || !bytes.HasPrefix(pdf[f.xref:], head) {
		return nil, errUnknownFile
	}
	return f, nil
}

// entrySize is the length of an entry of the table.
const entrySize = 20

// dictionary returns what is between the brackets of an object that is a dictionary.
func (f *file) dictionary(number int) (string, error) {
	if number >= f.size {
		return "", errUnknownFile
	}
	entry := f.bytes[f.table+number*entrySize:]
	at, err := strconv.Atoi(string(entry[:10]))
	if err != nil || at > f.xref {
		return "", errUnknownFile
	}
	object, _, _ := bytes.Cut(f.bytes[at:f.xref], []byte("\nendobj\n"))
	body, starts := strings.CutPrefix(string(object), strconv.Itoa(number)+" 0 obj\n")
	body = strings.TrimSpace(body)
	body, opens := strings.CutPrefix(body, "<<")
	body, closes := strings.CutSuffix(body, ">>")
	if !starts || !opens || !closes {
		return "", errUnknownFile
	}
	return strings.TrimSpace(body), nil
}

var (
	pagesIn     = regexp.MustCompile(`/Pages (\d+) 0 R`)
	firstPageIn = regexp.MustCompile(`/Kids \[(\d+) 0 R`)
)

// reference returns the number of the object that a dictionary refers to.
func reference(dictionary string, to *regexp.Regexp) (int, error) {
	match := to.FindStringSubmatch(dictionary)
	if match == nil {
		return 0, errUnknownFile
	}
	return strconv.Atoi(match[1])
}

// firstPage returns the number of the first page.
func (f *file) firstPage(catalog string) (int, error) {
	number, err := reference(catalog, pagesIn)
	if err != nil {
		return 0, err
	}
	pages, err := f.dictionary(number)
	if err != nil {
		return 0, err
	}
	return reference(pages, firstPageIn)
}

// An update is what follows a file: objects in place of its own, and new ones.
type update struct {
	bytes.Buffer
	offsets map[int]int // by the object's number
}

func (u *update) object(number int, format string, values ...any) {
	u.offsets[number] = u.Len()
	fmt.Fprintf(u, "%d 0 obj\n", number)
	fmt.Fprintf(u, format, values...)
	u.WriteString("\nendobj\n")
}

// withSignature appends an empty signature with a place for that many bytes: a field
// without a size on the first page, and its value, which permits no change of the
// document (DocMDP 1). The file stays as it is.
func (f *file) withSignature(name string, at time.Time, room int) (unsigned, error) {
	catalog, err := f.dictionary(f.root)
	if err != nil {
		return unsigned{}, err
	}
	number, err := f.firstPage(catalog)
	if err != nil {
		return unsigned{}, err
	}
	page, err := f.dictionary(number)
	if err != nil {
		return unsigned{}, err
	}
	field, value := f.size, f.size+1
	if links := fmt.Sprintf("/Annots [%d 0 R ", field); strings.Contains(page, "/Annots [") {
		page = strings.Replace(page, "/Annots [", links, 1)
	} else {
		page += "\n" + links + "]"
	}
	u := update{offsets: map[int]int{}}
	u.Grow(len(f.bytes) + 2*room + 4<<10)
	u.Write(f.bytes)
	u.object(f.root, "<<%s\n/AcroForm <</Fields [%d 0 R] /SigFlags 3>>\n/Perms <</DocMDP %d 0 R>>>>", catalog, field, value)
	u.object(number, "<<%s>>", page)
	u.object(field, "<</Type /Annot /Subtype /Widget /FT /Sig /T (Signature) /F 132 /Rect [0 0 0 0] /P %d 0 R /V %d 0 R>>",
		number, value)
	u.object(value, `<</Type /Sig /Filter /Adobe.PPKLite /SubFilter /ETSI.CAdES.detached
/M (%s) /Name <%s>
/Reference [<</Type /SigRef /TransformMethod /DocMDP /TransformParams <</Type /TransformParams /P 1 /V /1.2>>>>]
/ByteRange %s /Contents <%s>>>`, at.UTC().Format("D:20060102150405+00'00'"), textString(name), byteRange(0, 0, 0), strings.Repeat("0", 2*room))
	moved := u.Len()
	u.WriteString("xref\n0 1\n0000000000 65535 f \n")
	for _, n := range slices.Sorted(maps.Keys(u.offsets)) {
		fmt.Fprintf(&u, "%d 1\n%010d 00000 n \n", n, u.offsets[n])
	}
	fmt.Fprintf(&u, "trailer\n<<\n/Size %d\n/Root %d 0 R\n/Info %d 0 R\n/Prev %d\n>>\nstartxref\n%d\n%%%%EOF\n", f.size+2, f.root,
		f.info, f.xref, moved)

	out := unsigned{bytes: u.Bytes()}
	object := out.bytes[u.offsets[value]:]
	out.start = u.offsets[value] + bytes.Index(object, []byte("/Contents <")) + len("/Contents ")
	out.end = out.start + 2*room + len("<>")
	copy(object[bytes.Index(object, []byte("/ByteRange ["))+len("/ByteRange "):], byteRange(out.start, out.end,
		len(out.bytes)-out.end))
	return out, nil
}

// byteRange is the two parts of the file that are signed, always of one length.
func byteRange(start, end, rest int) string {
	return fmt.Sprintf("[0 %-10d %-10d %-10d]", start, end, rest)
}

// textString is a text in UTF-16, in hexadecimal.
func textString(s string) string {
	const bigEndian = 0xFEFF
	var b strings.Builder
	for _, unit := range append([]uint16{bigEndian}, utf16.Encode([]rune(s))...) {
		fmt.Fprintf(&b, "%04X", unit)
	}
	return b.String()
}
