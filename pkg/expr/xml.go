package expr

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/antchfx/xpath"
)

// xmlSelect gives the text of the first node that an XPath 1.0 expression
// finds, or null; an expression that computes gives its number, text or
// boolean (semantics/pipeline §3.4).
func xmlSelect(e *evaluator, args []Value) (v Value, err error) {
	path := args[0].Text()
	if len(path) > maxPattern {
		return Null(), tooLarge("an XPath may have %d bytes; this one has %d", maxPattern, len(path))
	}
	if args[1].IsNull() {
		return Null(), nil
	}
	text, err := e.text(args[1])
	if err != nil {
		return Null(), err
	}
	root, err := parseXML(text)
	if err != nil {
		return Null(), fmt.Errorf("%s isn't XML: %w", excerpt(text, 0), err)
	}
	compiled, err := xpath.Compile(path)
	if err != nil {
		return Null(), fmt.Errorf("XPath %q: %w", path, err)
	}
	defer func() { // the library panics on wrong arguments, xmlCursor.visit to stop it
		if p := recover(); p != nil {
			if err, _ = p.(error); err == nil || !errors.As(err, new(*positioned)) {
				err = fmt.Errorf("XPath %q: %v", path, p)
			}
			v = Null()
		}
	}()
	switch found := compiled.Evaluate(&xmlCursor{e: e, node: root}).(type) {
	case *xpath.NodeIterator:
		if !found.MoveNext() {
			return Null(), nil
		}
		return String(found.Current().Value()), nil
	case string:
		return String(found), nil
	case bool:
		return Bool(found), nil
	case float64:
		if math.IsNaN(found) || math.IsInf(found, 0) {
			return Null(), nil // e.g. number(//absent)
		}
		return Float(found), nil
	}
	return Null(), nil
}

// xmlNode is a part of an XML document.
type xmlNode struct {
	kind         xpath.NodeType
	prefix, name string
	text         string // of text, comments and attributes
	parent       *xmlNode
	prev, next   *xmlNode
	first, last  *xmlNode
	attributes   []*xmlNode
}

func (n *xmlNode) add(child *xmlNode) *xmlNode {
	child.parent, child.prev = n, n.last
	if n.last == nil {
		n.first = child
	} else {
		n.last.next = child
	}
	n.last = child
	return child
}

func (n *xmlNode) content(b *strings.Builder) {
	if n.kind == xpath.TextNode {
		b.WriteString(n.text)
	}
	for c := n.first; c != nil; c = c.next {
		c.content(b)
	}
}

// parseXML reads a document. Entities other than XML's own five, and so
// entity bombs and external files, don't exist.
func parseXML(text string) (*xmlNode, error) {
	dec := xml.NewDecoder(strings.NewReader(text))
	dec.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it already is text
	root := &xmlNode{kind: xpath.RootNode}
	at, depth := root, 0
	for {
		tok, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if depth++; depth > maxJSONDepth {
				return nil, fmt.Errorf("it is nested deeper than %d", maxJSONDepth)
			}
			at = at.add(newElement(t))
		case xml.EndElement:
			if at.parent == nil || at.name != t.Name.Local || at.prefix != t.Name.Space {
				return nil, fmt.Errorf("</%s> closes nothing that is open", t.Name.Local)
			}
			at = at.parent
			depth--
		case xml.CharData:
			if at != root {
				at.add(&xmlNode{kind: xpath.TextNode, text: string(t)})
			}
		case xml.Comment:
			at.add(&xmlNode{kind: xpath.CommentNode, text: string(t)})
		}
	}
	if at != root || root.first == nil {
		return nil, errors.New("it ends before its root element is closed")
	}
	return root, nil
}

func newElement(t xml.StartElement) *xmlNode {
	n := &xmlNode{kind: xpath.ElementNode, prefix: t.Name.Space, name: t.Name.Local}
	for _, a := range t.Attr {
		n.attributes = append(n.attributes, &xmlNode{
			kind: xpath.AttributeNode, prefix: a.Name.Space, name: a.Name.Local, text: a.Value, parent: n,
		})
	}
	return n
}

// xmlCursor moves over a document for the XPath library and counts the moves.
type xmlCursor struct {
	e         *evaluator
	node      *xmlNode
	attribute int // of the attribute that node is
}

// visit moves to a node, if there is one. When the evaluation has taken too
// many steps it panics, because the library has no other way to be stopped.
func (c *xmlCursor) visit(n *xmlNode) bool {
	if err := c.e.spend(0); err != nil {
		panic(err) //nolint:forbidigo // xmlSelect recovers it
	}
	if n == nil {
		return false
	}
	c.node = n
	return true
}

func (c *xmlCursor) NodeType() xpath.NodeType { return c.node.kind }
func (c *xmlCursor) LocalName() string        { return c.node.name }
func (c *xmlCursor) Prefix() string           { return c.node.prefix }

func (c *xmlCursor) Value() string {
	text := c.node.text
	if c.node.first != nil && c.node.kind != xpath.CommentNode {
		var b strings.Builder
		c.node.content(&b)
		text = b.String()
	}
	if err := c.e.spend(len(text)); err != nil {
		panic(err) //nolint:forbidigo // xmlSelect recovers it
	}
	return text
}

func (c *xmlCursor) Copy() xpath.NodeNavigator {
	out := *c
	return &out
}

func (c *xmlCursor) MoveToRoot() {
	for c.MoveToParent() {
	}
}

func (c *xmlCursor) MoveToParent() bool { return c.visit(c.node.parent) }

func (c *xmlCursor) MoveToNextAttribute() bool {
	owner, i := c.node, 0
	if c.node.kind == xpath.AttributeNode {
		owner, i = c.node.parent, c.attribute+1
	}
	if i >= len(owner.attributes) {
		return false
	}
	c.attribute = i
	return c.visit(owner.attributes[i])
}

func (c *xmlCursor) MoveToChild() bool { return c.visit(c.node.first) }

func (c *xmlCursor) MoveToFirst() bool {
	if c.node.prev == nil {
		return false
	}
	return c.visit(c.node.parent.first)
}

func (c *xmlCursor) MoveToNext() bool     { return c.visit(c.node.next) }
func (c *xmlCursor) MoveToPrevious() bool { return c.visit(c.node.prev) }

func (c *xmlCursor) MoveTo(other xpath.NodeNavigator) bool {
	o, ok := other.(*xmlCursor)
	if ok {
		c.node, c.attribute = o.node, o.attribute
	}
	return ok
}
