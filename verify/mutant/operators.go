package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// find finds the sites of a package's functions.
func find(pkg *packages.Package,
	read func(path string) (string, error)) (*finder, []*source, error) {
	f := &finder{pkg: pkg, times: map[string]int{}}
	var files []*source
	for i, path := range pkg.CompiledGoFiles {
		text, err := read(path)
		if err != nil {
			return nil, nil, err
		}
		f.file = &source{path: path, text: text, pos: pkg.Syntax[i].FileStart}
		files = append(files, f.file)
		for _, d := range pkg.Syntax[i].Decls {
			if function, ok := d.(*ast.FuncDecl); ok && function.Body != nil {
				f.inFunction(function)
			}
		}
	}
	return f, files, nil
}

func (f *finder) inFunction(function *ast.FuncDecl) {
	f.first, f.last = f.pkg.Fset.Position(function.Pos()).Line,
		f.pkg.Fset.Position(function.End()).Line
	f.function = function.Name.Name
	if function.Recv != nil {
		receiver := strings.TrimPrefix(f.textOf(function.Recv.List[0].Type), "*")
		receiver, _, _ = strings.Cut(receiver, "[")
		f.function = receiver + "." + f.function
	}
	ast.Inspect(function, func(n ast.Node) bool {
		if n == nil {
			f.above = f.above[:len(f.above)-1]
			return true
		}
		f.visit(n)
		f.above = append(f.above, n)
		return true
	})
}

func (f *finder) parent() ast.Node {
	if len(f.above) == 0 {
		return nil
	}
	return f.above[len(f.above)-1]
}

func (f *finder) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		f.ends(n.Type, n.Body)
	case *ast.FuncLit:
		f.ends(n.Type, n.Body)
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.never(n.Cond)
		}
	case *ast.RangeStmt:
		i := f.add("no loop", n.X)
		f.insert(n.Body.Lbrace+1, fmt.Sprintf(" if mutant__(%d) { break }; ", i))
	case *ast.CaseClause:
		f.caseClause(n)
	case *ast.CommClause:
		f.empty(n, n.Colon, n.Body)
	case *ast.ReturnStmt:
		f.returns(n)
	case *ast.AssignStmt:
		f.assigns(n)
	case *ast.IncDecStmt:
		f.drop(n)
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok && !f.quiet(call) {
			f.drop(n)
		}
	case *ast.CompositeLit:
		f.fields(n)
	case *ast.BinaryExpr:
		f.binary(n)
	case *ast.CallExpr:
		f.call(n)
	case *ast.Ident:
		f.flip(n)
	}
}

// ends lets a function end behind a switch that has lost a case.
func (f *finder) ends(of *ast.FuncType, body *ast.BlockStmt) {
	if of.Results != nil {
		f.insert(body.Rbrace, "; panic(\"behind a case that is empty\") ")
	}
}

func joined(e ast.Expr) (*ast.BinaryExpr, bool) {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return b, ok && (b.Op == token.LAND || b.Op == token.LOR)
}

// condition changes what an if or a case asks.
func (f *finder) condition(cond ast.Expr) {
	b, several := joined(cond)
	if !several || b.Op == token.LAND {
		f.never(cond)
	}
	if several && b.Op == token.LAND || f.comparesNil(cond) {
		return // without each term: it is harder to see
	}
	f.switched("always", cond, makesTrue)
}

func (f *finder) never(cond ast.Expr) {
	f.switched("never", cond, makesFalse)
}

// comparesNil is whether an expression is err != nil, or the like.
func (f *finder) comparesNil(e ast.Expr) bool {
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	return ok && (b.Op == token.NEQ || b.Op == token.EQL) && f.textOf(b.Y) == "nil" &&
		isError(f.typeOf(b.X))
}

func (f *finder) caseClause(n *ast.CaseClause) {
	if s, ok := f.above[len(f.above)-2].(*ast.SwitchStmt); ok && s.Tag == nil {
		for _, cond := range n.List {
			if !f.constant(cond) {
				f.condition(cond)
			}
		}
	}
	f.empty(n, n.Colon, n.Body)
}

// empty leaves out what a case does.
func (f *finder) empty(n ast.Node, colon token.Pos, body []ast.Stmt) {
	if len(body) == 0 {
		return
	}
	if b, ok := body[len(body)-1].(*ast.BranchStmt); ok &&
		(b.Tok == token.FALLTHROUGH || len(body) == 1) {
		return
	}
	i := f.add("empty case", n)
	f.insert(colon+1, fmt.Sprintf(" if mutant__(%d) { break }; ", i))
}

// returns turns an error that is returned into none.
func (f *finder) returns(n *ast.ReturnStmt) {
	for i, e := range n.Results {
		if f.isBool(e) && !f.constant(e) {
			f.condition(e)
		}
		if i < len(n.Results)-1 || f.textOf(e) == "nil" {
			continue
		}
		wanted := f.resultOf(len(n.Results))
		if !isError(wanted) {
			continue
		}
		if call, ok := e.(*ast.CallExpr); ok && isError(f.typeOf(e)) && !f.makesError(call) {
			continue // the call is left out
		}
		if f.guarded() {
			continue // the condition is left out
		}
		if _, tuple := f.typeOf(e).(*types.Tuple); tuple {
			continue
		}
		f.switched("nil error", e, "mutantZero__[error](%d, %%s)")
	}
}

// resultOf is the type of the innermost function's last result, of so many.
func (f *finder) resultOf(n int) types.Type {
	for _, above := range slices.Backward(f.above) {
		var of *ast.FuncType
		switch above := above.(type) {
		case *ast.FuncLit:
			of = above.Type
		case *ast.FuncDecl:
			of = above.Type
		default:
			continue
		}
		if of.Results == nil || of.Results.NumFields() != n {
			return nil
		}
		return f.typeOf(of.Results.List[len(of.Results.List)-1].Type)
	}
	return nil
}

// guarded is whether a return is all that an if of err != nil does.
func (f *finder) guarded() bool {
	if len(f.above) < 2 {
		return false
	}
	body, ok := f.above[len(f.above)-1].(*ast.BlockStmt)
	if !ok || len(body.List) != 1 {
		return false
	}
	if s, ok := f.above[len(f.above)-2].(*ast.IfStmt); ok {
		return s.Body == body && f.comparesNil(s.Cond)
	}
	return false
}

func (f *finder) negate(e ast.Expr) {
	if _, several := joined(e); several || f.constant(e) {
		return
	}
	if _, ok := f.typeOf(e).(*types.Basic); !ok {
		return
	}
	f.switched("negate", e, negates)
}

func (f *finder) assigns(n *ast.AssignStmt) {
	if len(n.Lhs) == len(n.Rhs) {
		for _, e := range n.Rhs {
			if f.isBool(e) {
				f.negate(e)
			}
		}
	}
	if n.Tok != token.DEFINE && f.textOf(n.Lhs[0]) != "_" {
		f.drop(n)
	}
}

// drop leaves a statement of a block out.
func (f *finder) drop(n ast.Stmt) {
	switch f.parent().(type) {
	case *ast.BlockStmt, *ast.CaseClause, *ast.CommClause:
	default:
		return
	}
	if comm, ok := f.parent().(*ast.CommClause); ok && comm.Comm == n {
		return
	}
	f.switched("drop", n, "if !mutant__(%d) { %%s }")
}

// callee is the function or method that a call calls, if it has a name.
func (f *finder) callee(call *ast.CallExpr) types.Object {
	fun := ast.Unparen(call.Fun)
	switch index := fun.(type) {
	case *ast.IndexExpr:
		fun = index.X
	case *ast.IndexListExpr:
		fun = index.X
	}
	switch fun := fun.(type) {
	case *ast.Ident:
		return f.pkg.TypesInfo.Uses[fun]
	case *ast.SelectorExpr:
		return f.pkg.TypesInfo.Uses[fun.Sel]
	}
	return nil
}

// quiet is whether nothing is to notice that a call is left out: logs, locks, and what panics.
func (f *finder) quiet(call *ast.CallExpr) bool {
	o := f.callee(call)
	if o == nil {
		return false
	}
	if o.Pkg() == nil {
		return o.Name() == "panic"
	}
	return slices.Contains([]string{"log", "log/slog", "sync"}, o.Pkg().Path())
}

func (f *finder) makesError(call *ast.CallExpr) bool {
	o := f.callee(call)
	return o != nil && o.Pkg() != nil && slices.Contains([]string{"errors", "fmt"}, o.Pkg().Path())
}

// fields leaves fields of a struct out.
func (f *finder) fields(n *ast.CompositeLit) {
	if t := f.typeOf(n); types.Implements(t, errorType) ||
		types.Implements(types.NewPointer(t), errorType) {
		return // what an error says
	}
	for _, e := range n.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		key, ok := kv.Key.(*ast.Ident)
		if !ok {
			return
		}
		field, ok := f.pkg.TypesInfo.Uses[key].(*types.Var)
		if !ok || !field.IsField() {
			return
		}
		if f.isBool(kv.Value) {
			f.negate(kv.Value)
			continue
		}
		if f.constant(kv.Value) || !types.Identical(field.Type(), f.typeOf(kv.Value)) ||
			f.textOf(kv.Value) == "nil" {
			continue
		}
		if lit, ok := kv.Value.(*ast.CompositeLit); ok && len(lit.Elts) == 0 {
			continue
		}
		i := f.add("drop field", kv)
		f.rewrite(kv.Value, fmt.Sprintf("mutantZero__(%d, %%s)", i), kv.Value)
	}
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

func (f *finder) binary(n *ast.BinaryExpr) {
	if f.constant(n) {
		return
	}
	switch n.Op {
	case token.LAND, token.LOR:
		for _, term := range []ast.Expr{n.X, n.Y} {
			if b, ok := term.(*ast.BinaryExpr); ok && b.Op == n.Op {
				continue // its own terms
			}
			f.switched("drop term", term,
				map[token.Token]string{token.LAND: makesTrue, token.LOR: makesFalse}[n.Op])
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		other := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=",
			token.GEQ: ">"}[n.Op]
		i := f.add("boundary", n)
		f.rewrite(n, fmt.Sprintf("(!mutant__(%d) && %%s %s %%s || mutant__(%d) && %%s %s %%s)", i, n.Op,
			i, other), n.X, n.Y, n.X, n.Y)
	case token.ADD, token.SUB:
		f.offByOne(n)
	}
}

// offByOne leaves the 1 out that is added or subtracted.
func (f *finder) offByOne(n *ast.BinaryExpr) {
	basic, ok := f.typeOf(n).Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsInteger == 0 || f.textOf(n.Y) != "1" ||
		basic.Kind() == types.UntypedInt {
		return
	}
	back := "-"
	if n.Op == token.SUB {
		back = ""
	}
	if back == "-" && basic.Info()&types.IsUnsigned != 0 {
		return
	}
	f.switched("off by one", n, "mutantPlus__(%d, %%s, "+back+"1)")
}

func (f *finder) call(n *ast.CallExpr) {
	if t := f.typeOf(n); t == nil || f.pkg.TypesInfo.Types[n.Fun].IsType() {
		return
	}
	if isError(f.typeOf(n)) && !f.makesError(n) {
		switch f.parent().(type) {
		case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		default:
			f.switched("drop call", n, "mutantSkip__(%d, func() error { return %%s })")
		}
	}
	o := f.callee(n)
	if o == nil {
		return
	}
	if o.Pkg() == nil && (o.Name() == "min" || o.Name() == "max") && len(n.Args) == 2 &&
		!f.constant(n) {
		name := map[string]string{"min": "Min", "max": "Max"}[o.Name()]
		i := f.add("min and max", n)
		f.add("drop bound", n)
		f.add("drop bound", n)
		f.rewrite(n, fmt.Sprintf("mutant%s__(%d, %%s, %%s)", name, i), n.Args[0], n.Args[1])
		return
	}
	f.timeCall(n, o)
	f.swapped(n)
}

// timeCall changes what is asked of times.
func (f *finder) timeCall(n *ast.CallExpr, o types.Object) {
	fun, ok := n.Fun.(*ast.SelectorExpr)
	if !ok || o.Pkg() == nil || o.Pkg().Path() != "time" || len(n.Args) != 1 ||
		f.typeOf(fun.X).String() != "time.Time" {
		return
	}
	switch o.Name() {
	case "Before", "After":
		other := map[string]string{"Before": "After", "After": "Before"}[o.Name()]
		i := f.add("boundary", n)
		f.rewrite(n, fmt.Sprintf("(!mutant__(%d) && %%s.%s(%%s) || mutant__(%d) && !%%s.%s(%%s))",
			i, o.Name(), i, other), fun.X, n.Args[0], fun.X, n.Args[0])
	case "Add":
		amount := n.Args[0]
		if signed, ok := amount.(*ast.UnaryExpr); ok {
			amount = signed.X
		}
		if _, lit := amount.(*ast.BasicLit); !lit { // a number alone has no type
			i := f.add("drop time", n)
			f.rewrite(n.Args[0], fmt.Sprintf("mutantZero__(%d, %%s)", i), n.Args[0])
		}
	}
}

// simple is whether an expression can be asked twice.
func simple(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name != "nil"
	case *ast.SelectorExpr:
		return simple(e.X)
	}
	return false
}

// swapped swaps two arguments of one type.
func (f *finder) swapped(n *ast.CallExpr) {
	signature, ok := f.typeOf(n.Fun).(*types.Signature)
	if !ok || signature.Variadic() {
		return
	}
	for i := 0; i+1 < len(n.Args); i++ {
		a, b := n.Args[i], n.Args[i+1]
		if !simple(a) || !simple(b) || f.constant(a) || f.constant(b) || f.textOf(a) == f.textOf(b) ||
			!f.pkg.TypesInfo.Types[a].IsValue() || !types.Identical(f.typeOf(a), f.typeOf(b)) {
			continue
		}
		m := f.add("swap", a)
		f.rewrite(a, fmt.Sprintf("mutantSwap__(%d, %%s, %s)", m, f.textOf(b)), a)
		f.rewrite(b, fmt.Sprintf("mutantSwap__(%d, %%s, %s)", m, f.textOf(a)), b)
	}
}

// flip makes a true false, and the reverse: of a strong read a weak one.
func (f *finder) flip(n *ast.Ident) {
	if o := f.pkg.TypesInfo.Uses[n]; o == nil || o.Parent() != types.Universe ||
		n.Name != "true" && n.Name != "false" {
		return
	}
	operator := "flip"
	switch p := f.parent().(type) {
	case *ast.CaseClause:
		return
	case *ast.ValueSpec:
		if f.above[len(f.above)-2].(*ast.GenDecl).Tok == token.CONST {
			return
		}
	case *ast.KeyValueExpr:
		if f.textOf(p.Key) == "Strong" {
			operator = "weak read"
		}
	}
	f.switched(operator, n, negates)
}
