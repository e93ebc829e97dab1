package main

import (
	"go/ast"
	"go/token"
	"strings"
	"unicode/utf8"
)

// wholeText is from how many columns on a text in quotes keeps its line: broken, it is not found.
const wholeText = 80

// longLines counts the lines of a file of Go that are over maxColumns wide. A row of a table, a
// text that has to stay whole, what a comment shows as it is, and an address may be longer.
func longLines(files *token.FileSet, parsed *ast.File, text string) (n int) {
	whole := map[int]bool{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		first, last := span(files, node)
		switch node := node.(type) {
		case *ast.CompositeLit:
			for _, row := range node.Elts {
				from, to := span(files, row)
				if isTable(node) && from == to && first < from && from < last {
					whole[from] = true
				}
			}
		case *ast.BasicLit:
			for line := first; line <= last; line++ {
				if first < last || utf8.RuneCountInString(node.Value) > wholeText {
					whole[line] = true
				}
			}
		}
		return true
	})
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		comment, is := strings.CutPrefix(strings.TrimSpace(line), "//")
		shown := is && (strings.HasPrefix(comment, "\t") || strings.Contains(comment, "https://"))
		if utf8.RuneCountInString(line) > maxColumns && !whole[number] && !shown {
			n++
		}
	}
	return n
}

// isTable says whether what a literal has are rows: of a list, of a map, or of either's element.
func isTable(literal *ast.CompositeLit) bool {
	switch literal.Type.(type) {
	case nil, *ast.ArrayType, *ast.MapType:
		return true
	}
	return false
}

// span returns the first and the last line of a node.
func span(files *token.FileSet, node ast.Node) (first, last int) {
	if node == nil {
		return 0, 0
	}
	return files.Position(node.Pos()).Line, files.Position(node.End()).Line
}
