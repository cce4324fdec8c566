package docs

import "regexp"

var shellBlock = regexp.MustCompile("(?s)```sh ([^\n]+)\n(.*?)\n```")

// QuickStart returns the commands of the guide of that name by their titles, with the key
// in the place of its example.
func (s *Server) QuickStart(key string) (map[string]string, error) {
	f, err := s.facts(nil)
	if err != nil {
		return nil, err
	}
	f["Key"] = key
	text, err := f.read("quick-start")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		out[block[1]] = block[2]
	}
	return out, nil
}
