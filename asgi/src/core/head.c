#include "head.h"

#include <stdlib.h>
#include <string.h>

#include "chars.h"

enum {
  START, BLANK_LF, METHOD, TARGET, VERSION, VERSION_LF,
  LINE, NAME, VALUE_START, VALUE, VALUE_LF, END_LF,
};

enum { BLANK_LINES_IGNORED = 2, METHOD_LONGEST = 64, VERSION_LENGTH = 8 };

void head_reset(Head *head) {
  HeadField *fields = head->fields;
  uint32_t capacity = head->capacity;
  memset(head, 0, sizeof(*head));
  head->fields = fields;
  head->capacity = capacity;
  head->content_length = HEAD_LENGTH_NONE;
}

void head_free(Head *head) {
  free(head->fields);
  head->fields = NULL;
  head->capacity = head->count = 0;
}

bool head_clone(Head *copy, const Head *head) {
  *copy = *head;
  copy->fields = NULL;
  copy->capacity = head->count;
  if (head->count == 0) return true;
  copy->fields = malloc(head->count * sizeof(HeadField));
  if (copy->fields == NULL) return false;
  memcpy(copy->fields, head->fields, head->count * sizeof(HeadField));
  return true;
}

static HeadField *add_field(Head *head) {
  if (head->count == head->capacity) {
    uint32_t wanted = head->capacity ? head->capacity * 2 : 32;
    HeadField *grown = realloc(head->fields, wanted * sizeof(HeadField));
    if (grown == NULL) return NULL;
    head->fields = grown;
    head->capacity = wanted;
  }
  return &head->fields[head->count++];
}

/* --- what single fields mean ------------------------------------------------------------ */

typedef struct {
  const unsigned char *text;
  size_t length;
} Span;

static int read_content_length(Head *head, Span value) {
  int64_t sum = 0;
  if (head->content_length != HEAD_LENGTH_NONE) return -400;
  if (value.length == 0 || value.length > 18) return -400;
  for (size_t i = 0; i < value.length; i++) {
    if (value.text[i] < '0' || value.text[i] > '9') return -400;
    sum = sum * 10 + (value.text[i] - '0');
  }
  head->content_length = sum;
  return 0;
}

static int read_transfer_encoding(Head *head, Span value) {
  if (head->chunked) return -400;
  if (!bytes_equal_nocase(value.text, value.length, "chunked")) {
    /* "chunked, chunked" is an attack, "gzip, chunked" merely something we do not speak */
    return value.length > 7 && bytes_equal_nocase(value.text, 7, "chunked") ? -400 : -501;
  }
  head->chunked = true;
  return 0;
}

static int read_host(Head *head, Span value) {
  if (head->has_host) return -400;
  head->has_host = true;
  for (size_t i = 0; i < value.length; i++) {
    unsigned char c = value.text[i];
    if (!char_is(c, CHAR_TARGET) || c == '/' || c == '?' || c == '#' || c == '@' || c == ',') {
      return -400;
    }
  }
  return 0;
}

static int read_expect(Head *head, Span value) {
  if (!bytes_equal_nocase(value.text, value.length, "100-continue")) return -417;
  head->expect_continue = true;
  return 0;
}

/* Takes the next element of a comma-separated list; false at its end. */
static bool next_element(Span *rest, Span *element) {
  while (rest->length && (*rest->text == ' ' || *rest->text == '\t' || *rest->text == ',')) {
    rest->text++, rest->length--;
  }
  if (rest->length == 0) return false;
  const unsigned char *comma = memchr(rest->text, ',', rest->length);
  size_t whole = comma ? (size_t) (comma - rest->text) : rest->length;
  *element = (Span) {rest->text, whole};
  while (element->length && (element->text[element->length - 1] == ' ' ||
                             element->text[element->length - 1] == '\t')) {
    element->length--;
  }
  rest->text += whole, rest->length -= whole;
  return true;
}

static int read_connection(Head *head, Span value) {
  Span element;
  while (next_element(&value, &element)) {
    if (bytes_equal_nocase(element.text, element.length, "close")) head->close = true;
    if (bytes_equal_nocase(element.text, element.length, "keep-alive")) head->keep_alive = true;
    if (bytes_equal_nocase(element.text, element.length, "upgrade")) head->upgrade = true;
  }
  return 0;
}

static int read_upgrade(Head *head, Span value) {
  Span element;
  while (next_element(&value, &element)) {
    if (bytes_equal_nocase(element.text, element.length, "websocket")) head->websocket = true;
  }
  return 0;
}

static int read_forwarded(Head *head, Span value) {
  (void) value;
  head->forwarded = true;
  return 0;
}

typedef struct {
  const char *name;
  int (*read)(Head *, Span);
} Meaning;

static const Meaning meanings[] = {
    {"host", read_host},
    {"content-length", read_content_length},
    {"connection", read_connection},
    {"transfer-encoding", read_transfer_encoding},
    {"expect", read_expect},
    {"upgrade", read_upgrade},
    {"x-forwarded-for", read_forwarded},
    {"x-forwarded-proto", read_forwarded},
};

/* Most fields mean nothing to framing, so length and first letter are compared first. */
static int interpret(Head *head, Span name, Span value) {
  for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
    const char *known = meanings[i].name;
    if (char_lower(name.text[0]) == (unsigned char) known[0] &&
        bytes_equal_nocase(name.text, name.length, known)) {
      return meanings[i].read(head, value);
    }
  }
  return 0;
}

static int end_field(Head *head, const unsigned char *bytes, uint32_t end) {
  HeadField *field = &head->fields[head->count - 1];
  while (end > head->mark && (bytes[end - 1] == ' ' || bytes[end - 1] == '\t')) end--;
  field->value = head->mark;
  field->value_length = end - head->mark;
  return interpret(head, (Span) {bytes + field->name, field->name_length},
                   (Span) {bytes + field->value, field->value_length});
}

/* --- what the whole head means ---------------------------------------------------------- */

static int check_target(const Head *head, const unsigned char *bytes) {
  const unsigned char *target = bytes + head->target;
  const unsigned char *method = bytes + head->method;
  if (head->method_length == 7 && memcmp(method, "CONNECT", 7) == 0) return -501;
  if (memchr(target, '#', head->target_length) != NULL) return -400;
  if (target[0] == '/') return 0;
  if (head->target_length == 1 && target[0] == '*') {
    return head->method_length == 7 && memcmp(method, "OPTIONS", 7) == 0 ? 0 : -400;
  }
  if (head->target_length > 7 && bytes_equal_nocase(target, 7, "http://")) return 0;
  if (head->target_length > 8 && bytes_equal_nocase(target, 8, "https://")) return 0;
  return -400;
}

static int check_framing(Head *head) {
  if (head->chunked && head->content_length != HEAD_LENGTH_NONE) return -400;
  if (head->chunked && head->minor_version == 0) return -400;
  if (!head->has_host && head->minor_version == 1) return -400;
  if (head->minor_version == 1) head->keep_alive = !head->close;
  else head->keep_alive = head->keep_alive && !head->close;
  if (head->minor_version == 0) head->expect_continue = false;
  return 0;
}

static int check_head(Head *head, const unsigned char *bytes) {
  int refused = check_target(head, bytes);
  return refused ? refused : check_framing(head);
}

/* The version is compared as it arrives, so that garbage is refused at its first byte. */
static int version_byte(Head *head, unsigned char c, uint32_t at) {
  static const char expected[] = "HTTP/1.";
  if (at < 5) return c == (unsigned char) expected[at] ? 0 : -400;
  if (at == 5) return c == '1' ? 0 : (c >= '0' && c <= '9' ? -505 : -400);
  if (at == 6) return c == '.' ? 0 : -400;
  if (c < '0' || c > '9') return -400;
  head->minor_version = c != '0'; /* a later 1.x is answered as 1.1 (RFC 9110, section 2.5) */
  return 0;
}

/* --- the machine -------------------------------------------------------------------------- */

/* Skips bytes of a class; the common case of all states that collect something. */
static uint32_t skip(const unsigned char *bytes, uint32_t from, uint32_t length, int class_bits) {
  while (from < length && char_is(bytes[from], class_bits)) from++;
  return from;
}

static int step_request_line(Head *head, const unsigned char *bytes, uint32_t *at, uint32_t length) {
  unsigned char c = bytes[*at];
  switch (head->state) {
    case START:
      if (c == '\r' && head->blank_lines++ < BLANK_LINES_IGNORED) {
        head->state = BLANK_LF, (*at)++;
        return 0;
      }
      head->method = *at;
      head->state = METHOD;
      return char_is(c, CHAR_TOKEN) ? 0 : -400;
    case BLANK_LF:
      head->state = START, (*at)++;
      return c == '\n' ? 0 : -400;
    case METHOD:
      *at = skip(bytes, *at, length, CHAR_TOKEN);
      if (*at - head->method > METHOD_LONGEST) return -501;
      if (*at == length) return 0;
      if (bytes[*at] != ' ') return -400;
      head->method_length = *at - head->method;
      head->target = ++*at;
      head->state = TARGET;
      return 0;
    case TARGET:
      *at = skip(bytes, *at, length, CHAR_TARGET);
      if (*at == length) return 0;
      head->target_length = *at - head->target;
      if (bytes[*at] != ' ' || head->target_length == 0) return -400;
      head->mark = ++*at;
      head->state = VERSION;
      return 0;
    case VERSION:
      if (*at - head->mark < VERSION_LENGTH) return version_byte(head, c, (*at)++ - head->mark);
      head->state = VERSION_LF, (*at)++;
      return c == '\r' ? 0 : -400;
    default:
      head->state = LINE, (*at)++;
      return c == '\n' ? 0 : -400;
  }
}

static int start_line(Head *head, const unsigned char *bytes, uint32_t *at) {
  if (bytes[*at] == '\r') {
    head->state = END_LF, (*at)++;
    return 0;
  }
  if (!char_is(bytes[*at], CHAR_TOKEN)) return -400; /* also where a folded line would go on */
  HeadField *field = add_field(head);
  if (field == NULL) return -500;
  field->name = *at;
  head->state = NAME;
  return 0;
}

static int end_name(Head *head, const unsigned char *bytes, uint32_t *at, uint32_t length) {
  *at = skip(bytes, *at, length, CHAR_TOKEN);
  if (*at == length) return 0;
  if (bytes[*at] != ':') return -400;
  HeadField *field = &head->fields[head->count - 1];
  field->name_length = *at - field->name;
  head->state = VALUE_START, (*at)++;
  return 0;
}

static int step_fields(Head *head, const unsigned char *bytes, uint32_t *at, uint32_t length) {
  switch (head->state) {
    case LINE:
      return start_line(head, bytes, at);
    case NAME:
      return end_name(head, bytes, at, length);
    case VALUE_START:
      if (bytes[*at] == ' ' || bytes[*at] == '\t') {
        (*at)++;
        return 0;
      }
      head->mark = *at;
      head->state = VALUE;
      return 0;
    case VALUE:
      *at = skip(bytes, *at, length, CHAR_VALUE);
      if (*at == length) return 0;
      if (bytes[*at] != '\r') return -400;
      head->state = VALUE_LF, (*at)++;
      return end_field(head, bytes, *at - 1);
    default: /* VALUE_LF */
      head->state = LINE, (*at)++;
      return bytes[*at - 1] == '\n' ? 0 : -400;
  }
}

static int check_limits(const Head *head, uint32_t at, const HeadLimits *limits) {
  if (head->state < LINE && at > limits->line_bytes) return -414;
  return at > limits->head_bytes ? -431 : 0;
}

static uint32_t smaller(size_t length, uint32_t most) {
  return length > most ? most : (uint32_t) length;
}

long head_parse(Head *head, const unsigned char *bytes, size_t length, const HeadLimits *limits) {
  /* never look further than a limit: what is within it has ended by then, and what lies beyond
   * must not change the answer */
  uint32_t end = smaller(length, limits->head_bytes + 1);
  uint32_t line_end = smaller(end, limits->line_bytes + 1);
  uint32_t at = head->position;
  int refused = 0;
  while (at < end && refused == 0) {
    if (head->state == END_LF) {
      if (bytes[at] != '\n') return -400;
      if (at + 1 > limits->head_bytes) return -431;
      refused = check_head(head, bytes);
      return refused ? refused : (long) at + 1;
    }
    refused = head->state < LINE ? step_request_line(head, bytes, &at, line_end)
                                 : step_fields(head, bytes, &at, end);
    if (refused == 0) refused = check_limits(head, at, limits);
  }
  head->position = at;
  return refused;
}
