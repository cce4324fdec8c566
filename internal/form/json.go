package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// node is one object of a section's JSON: members in page order.
type node struct {
	keys    []string
	members map[string]any // *node, Value or []*node
}

func (n *node) set(path string, leaf any) {
	key, rest, nested := strings.Cut(path, ".")
	if n.members == nil {
		n.members = map[string]any{}
	}
	child, exists := n.members[key]
	if !exists {
		n.keys = append(n.keys, key)
	}
	if !nested {
		n.members[key] = leaf
		return
	}
	object, ok := child.(*node)
	if !ok {
		object = &node{}
		n.members[key] = object
	}
	object.set(rest, leaf)
}

// MarshalJSON writes the members in page order.
func (n *node) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range n.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(n.members[key])
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", key, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func object(fields []Field) *node {
	n := &node{}
	for _, f := range fields {
		n.set(f.Name, f.Value)
	}
	return n
}

// enteredMember is the stored member with Entered.
const enteredMember = "entered"

// Stored is what is kept of valid answers: MarshalJSON's object with one more
// member, what Entered returns, unless that is empty.
func (s *Section) Stored() ([]byte, error) {
	root := s.answers()
	if entered := s.Entered(); len(entered) > 0 {
		root.set(enteredMember, entered)
	}
	return root.MarshalJSON()
}

// MarshalJSON writes the answers and the computed amounts as one object,
// nested by the fields' paths, in page order.
func (s *Section) MarshalJSON() ([]byte, error) { return s.answers().MarshalJSON() }

func (s *Section) answers() *node {
	root := &node{}
	for _, g := range s.Groups {
		for _, f := range g.Fields {
			root.set(f.Name, f.Value)
		}
		if g.List == nil {
			continue
		}
		items := make([]*node, g.List.Len())
		for i := range items {
			items[i] = object(g.List.Item(i))
		}
		root.set(g.List.Name, items)
	}
	return root
}

// UnmarshalJSON reads what MarshalJSON or Stored writes. It ignores members without a
// field, and a missing or null member leaves its answer empty. So answers
// stored before a question was added or removed can be read. Of shared amounts the share
// is that which the section asks for now (D78): if that changes an answer, it is Outdated.
func (s *Section) UnmarshalJSON(data []byte) error {
	var answers members
	if err := json.Unmarshal(data, &answers); err != nil {
		return err
	}
	for _, g := range s.Groups {
		for _, f := range g.Fields {
			f.Value.Parse(nothing)
		}
		if err := answers.fill(g.Fields); err != nil {
			return err
		}
		if g.List == nil {
			continue
		}
		if err := g.List.unmarshal(answers[g.List.Name]); err != nil {
			return fmt.Errorf("%s: %w", g.List.Name, err)
		}
	}
	if answers[enteredMember] != nil {
		var entered map[string]Entries
		if err := json.Unmarshal(answers[enteredMember], &entered); err != nil {
			return err
		}
		s.Restore(entered)
	}
	if s.share() {
		s.Outdate()
	}
	return nil
}

func (l *List) unmarshal(raw json.RawMessage) error {
	var items []members
	if raw != nil {
		if err := json.Unmarshal(raw, &items); err != nil {
			return err
		}
	}
	l.clear()
	for i, item := range items {
		l.add()
		if err := item.fill(l.Item(i)); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

// members is one object of stored JSON.
type members map[string]json.RawMessage

func (m members) fill(fields []Field) error {
	for _, f := range fields {
		raw, err := m.at(f.Name)
		if err == nil && raw != nil && string(raw) != "null" {
			err = f.Value.UnmarshalJSON(raw)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

// at returns the raw JSON at a dotted path, nil if there is none.
func (m members) at(path string) (json.RawMessage, error) {
	key, rest, nested := strings.Cut(path, ".")
	raw := m[key]
	if raw == nil || !nested {
		return raw, nil
	}
	var child members
	if err := json.Unmarshal(raw, &child); err != nil {
		return nil, err
	}
	return child.at(rest)
}
