package awscall

import (
	"context"
	"crypto/md5" //nolint:gosec // S3 asks for it where objects are deleted
	"encoding/base64"
	"encoding/xml"
	"fmt"
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
	r.words = wordsOfS3
	return b.client.do(ctx, r)
}

// path is an object's.
func path(key string) string { return "/" + httpbinding.EscapePath(key, false) }

// Put stores an object, in place of one that is there.
//
// Lost response, another did it first: the repeat stores it again. We die right after: it is there.
func (b *Bucket) Put(ctx context.Context, key, contentType string, body []byte) error {
	_, err := b.do(ctx, request{method: http.MethodPut, path: path(key), header: map[string]string{"Content-Type": contentType}, body: body})
	return err
}

// maxObject is more than a batch takes in an object: 16 MB of bodies, in base64, which did not
// get smaller.
const maxObject = 64 << 20

// Get reads an object.
func (b *Bucket) Get(ctx context.Context, key string) ([]byte, error) {
	answer, err := b.do(ctx, request{method: http.MethodGet, path: path(key), most: maxObject})
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
func (b *Bucket) List(ctx context.Context, prefix, after string) (objects []Object, more bool, err error) {
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

// Delete deletes 1 to 1,000 objects, each whether or not it is there.
//
// Lost response, another did it first: nothing is there, as asked for. We die right after: the same.
func (b *Bucket) Delete(ctx context.Context, objects []Object) error {
	type key struct{ Key string }
	in := struct {
		XMLName xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ Delete"`
		Object  []key
		Quiet   bool
	}{Quiet: true}
	for _, o := range objects {
		in.Object = append(in.Object, key{o.Key})
	}
	body, err := xml.Marshal(in)
	if err != nil {
		return err
	}
	sum := md5.Sum(body) //nolint:gosec // S3 asks for it
	answer, err := b.do(ctx, request{
		method: http.MethodPost, path: "/?delete=", body: body,
		header: map[string]string{"Content-Type": "application/xml", "Content-MD5": base64.StdEncoding.EncodeToString(sum[:])},
	})
	if err != nil {
		return err
	}
	var out struct {
		Error []struct{ Key, Code, Message string }
	}
	if err = xml.Unmarshal(answer.body, &out); err == nil && len(out.Error) > 0 {
		failed := out.Error[0]
		err = fmt.Errorf("%d of %d objects were not deleted; %s: %w", len(out.Error), len(objects), failed.Key,
			&Error{Status: http.StatusOK, Code: failed.Code, Message: bounded(failed.Message)})
	}
	return err
}

// wordsOfS3 reads an error of S3.
func wordsOfS3(body []byte) (code, message string) {
	var said struct{ Code, Message string }
	_ = xml.Unmarshal(body, &said) // what is no XML has no words
	return said.Code, said.Message
}
