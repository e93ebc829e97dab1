package cursor

// What tests look at beside what the package exports.
type (
	CursorFilter = cursorFilter
	CursorScan   = cursorScan
	Fingerprints = fingerprints
	Page         = messagePage
	Place        = roundPlace
	Progress     = roundProgress
	WaitingPage  = waitingPage
	Walk         = walking
	Gap          = oneGap
)

// MaxArrivalMessages is the most messages of an arrival.
const MaxArrivalMessages = maxArrivalMessages

// WalkAll is the walk over all queues.
var WalkAll = (*Sorter).walkAll

// Inside are the requests to the tables, one by one.
func (s *Store) Inside() *requests { return &s.requests }

// Steps are the steps of the sweep, of delivery and of reading, one by one.
func (s *Sorter) Steps() inside { return inside{s} }
