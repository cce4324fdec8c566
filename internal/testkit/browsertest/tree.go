package browsertest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
)

// outline are the roles by which screen readers move through a page. Text between
// them isn't among them.
var outline = []string{
	"banner", "navigation", "main", "region", "complementary", "contentinfo", "form", "heading", "list", "link", "button",
	"textbox", "combobox", "checkbox", "radio", "group", "alert", "status", "progressbar", "term", "definition",
}

// Tree lists what screen readers meet in the page, in reading order: the role, the name
// and the state of each landmark, heading, list and control, such as
// "checkbox Property (checked)".
func (tab *Tab) Tree() []string {
	tab.t.Helper()
	answer := run(tab, "read the accessibility tree", func(ctx context.Context,
		_ *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
		return chromedp.Call(ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	})
	nodes := map[accessibility.NodeID]*accessibility.Node{}
	for _, node := range answer.Nodes {
		nodes[node.NodeID] = node
	}
	var out []string
	var walk func(node *accessibility.Node)
	walk = func(node *accessibility.Node) {
		if role := said(node.Role); !node.Ignored && slices.Contains(outline, role) {
			out = append(out, line(role, node))
		}
		for _, id := range node.ChildIDs {
			if child := nodes[id]; child != nil {
				walk(child)
			}
		}
	}
	walk(answer.Nodes[0])
	return out
}

func line(role string, node *accessibility.Node) string {
	parts := []string{role}
	if name := said(node.Name); name != "" {
		parts = append(parts, strings.Join(strings.Fields(name), " "))
	}
	for _, p := range node.Properties {
		value := said(p.Value)
		switch name := string(p.Name); {
		case name == "level":
			parts[0] += " " + value
		case (name == "checked" || name == "invalid" || name == "expanded" || name == "required") && value != "false":
			parts = append(parts, "("+name+")")
		}
	}
	return strings.Join(parts, " ")
}

// said is what a value of the tree says.
func said(value *accessibility.Value) string {
	if value == nil {
		return ""
	}
	var text any
	if json.Unmarshal([]byte(value.Value), &text) != nil || text == nil {
		return ""
	}
	if s, ok := text.(string); ok {
		return s
	}
	return strings.Trim(string(value.Value), `"`)
}
