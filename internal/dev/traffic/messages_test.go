package traffic

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestReadSaysWhatIsWrong(t *testing.T) {
	const good = `{"queue":"q","seq":1,"body":1}` + "\n"
	for name, c := range map[string]struct {
		text string
		want string // a part of the error
	}{
		"empty":         {"", "no message in it"},
		"no JSON":       {good + "\nhello\n", "line 3 is not a message"},
		"no queue":      {`{"seq":1,"body":1}`, "line 1 has no queue"},
		"no seq":        {good + `{"queue":"q","body":1}`, "line 2 has no seq"},
		"a seq below 1": {`{"queue":"q","seq":-4,"body":1}`, "line 1 has no seq"},
	} {
		path := filepath.Join(t.TempDir(), "input.ndjson")
		check.OK(t, os.WriteFile(path, []byte(c.text), 0o600))
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
	folder := t.TempDir()
	_, err := Read(folder)
	check.That(t, err != nil && strings.Contains(err.Error(), folder), "a folder: error %v", err)
}

func TestDue(t *testing.T) {
	var messages []Message
	add := func(queue string, seqs ...int64) {
		for _, seq := range seqs {
			messages = append(messages, Message{Place: Place{queue, seq}})
		}
	}
	add("whole", 2, 1, 2, 3)
	add("open", 8, 1, 4, 9, 2, 4)
	add("late", 5)
	due, gaps := Due(messages)
	var got []string
	for _, m := range messages {
		if due(m.Place) {
			got = append(got, fmt.Sprint(m.Queue, m.Seq))
		}
	}
	check.Is(t, cmp.Diff([]string{"whole2", "whole1", "whole2", "whole3", "open1", "open2"}, got), "")
	want := []Gap{
		{Queue: "late", Missing: [][2]int64{{1, 4}}, Waiting: 1},
		{Queue: "open", Missing: [][2]int64{{3, 3}, {5, 7}}, Waiting: 3},
	}
	check.Is(t, cmp.Diff(want, gaps), "")
	text := gaps[1].String()
	check.Is(t, text, "queue open: seq 3, 5 to 7 is missing; messages behind it that wait: 3")
}
