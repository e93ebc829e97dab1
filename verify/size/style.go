package main

import "regexp"

// listed are words that the house style has others for: reports, the caller, delivers, handles, is
// not, fix, the start. The list grows when a reader stumbles.
var listed = regexp.MustCompile(`(?i)\b(told|whoever|hands on|handed on|sees to|is none|made anew|mend(s|ed|ing)?|the begin|of whom)\b`)

// inFront are sentences whose object or relative stands in front.
var inFront = regexp.MustCompile(`(?m)(^\s*(//|-|\*|>)?\s*|[.:!] )(Of|Who|Whoever|Nobody) [a-z]`)

// named are a comment and a field of Go that begin so because it is their name.
var named = regexp.MustCompile(`(?m)^\s*(// (Of|Who) (is|are) |Of string$)`)

// style counts what the house style refuses in a page, or in a file of Go with its comments, help
// texts and errors.
func (t *tree) style(text string) {
	t.add("words of the style list", len(listed.FindAllString(text, -1)))
	t.add("sentences that begin with Of, Who, Whoever, Nobody",
		len(inFront.FindAllString(text, -1))-len(named.FindAllString(text, -1)))
}
