package awscall

import (
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/smithy-go/encoding/httpbinding"
)

// Bucket is a bucket of S3 in the client's region.
type Bucket struct{ client *Client }

// NewBucket returns a bucket by its name. It makes no request.
func NewBucket(name string, o Options) (*Bucket, error) {
	c, err := New(S3, o)
	if err != nil {
		return nil, err
	}
	// A certificate of S3's holds for one label; a server of one's own has no names for buckets.
	if rest, is := strings.CutPrefix(c.endpoint, "https://s3."); is && !strings.Contains(name, ".") {
		c.endpoint = "https://" + name + ".s3." + rest
	} else {
		c.endpoint += "/" + name
	}
	return &Bucket{c}, nil
}

func (b *Bucket) do(ctx context.Context, r request) (*response, error) {
	r.words = wordsOfXML
	return b.client.do(ctx, r)
}

func path(key string) string { return "/" + httpbinding.EscapePath(key, false) }

// Put stores an object, in place of one that is there.
//
// Lost response, another did it first: the repeat stores it again. We die right after: it is there.
func (b *Bucket) Put(ctx context.Context, key, contentType string, body []byte) error {
	_, err := b.do(ctx, request{method: http.MethodPut, path: path(key),
		header: map[string]string{"Content-Type": contentType}, body: body})
	return err
}

// Get reads an object that has at most so many bytes.
func (b *Bucket) Get(ctx context.Context, key string, most int64) ([]byte, error) {
	answer, err := b.do(ctx, request{method: http.MethodGet, path: path(key), most: most})
	if err != nil {
		return nil, err
	}
	return answer.body, nil
}

// Object is an object of a list.
type Object struct {
	Key          string
	LastModified time.Time
}

// List lists up to 1,000 objects whose keys begin with prefix and are greater than after, in the
// order of their keys, and whether there are more.
func (b *Bucket) List(ctx context.Context,
	prefix, after string) (objects []Object, more bool, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
	if after != "" {
		query.Set("start-after", after)
	}
	answer, err := b.do(ctx, request{method: http.MethodGet, path: "/?" + query.Encode()})
	if err != nil {
		return nil, false, err
	}
	var list struct {
		Contents    []Object
		IsTruncated bool
	}
	err = xml.Unmarshal(answer.body, &list)
	return list.Contents, list.IsTruncated, err
}

// Delete deletes an object, whether or not it is there.
//
// Lost response, another did it first: nothing is there, as asked for. We die right after: the
// same.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	_, err := b.do(ctx, request{method: http.MethodDelete, path: path(key)})
	return err
}
