#include "phrases.h"

#include <stdio.h>
#include <time.h>

typedef struct {
  int status;
  const char *phrase;
} Phrase;

static const Phrase phrases[] = {
    {200, "OK"}, {201, "Created"}, {202, "Accepted"}, {203, "Non-Authoritative Information"},
    {204, "No Content"}, {205, "Reset Content"}, {206, "Partial Content"}, {207, "Multi-Status"},
    {300, "Multiple Choices"}, {301, "Moved Permanently"}, {302, "Found"}, {303, "See Other"},
    {304, "Not Modified"}, {307, "Temporary Redirect"}, {308, "Permanent Redirect"},
    {400, "Bad Request"}, {401, "Unauthorized"}, {402, "Payment Required"}, {403, "Forbidden"},
    {404, "Not Found"}, {405, "Method Not Allowed"}, {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"}, {408, "Request Timeout"}, {409, "Conflict"},
    {410, "Gone"}, {411, "Length Required"}, {412, "Precondition Failed"},
    {413, "Content Too Large"}, {414, "URI Too Long"}, {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"}, {417, "Expectation Failed"}, {418, "I'm a Teapot"},
    {421, "Misdirected Request"}, {422, "Unprocessable Content"}, {423, "Locked"},
    {425, "Too Early"}, {426, "Upgrade Required"}, {428, "Precondition Required"},
    {429, "Too Many Requests"}, {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"}, {500, "Internal Server Error"},
    {501, "Not Implemented"}, {502, "Bad Gateway"}, {503, "Service Unavailable"},
    {504, "Gateway Timeout"}, {505, "HTTP Version Not Supported"}, {507, "Insufficient Storage"},
};

const char *status_phrase(int status) {
  for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
    if (phrases[i].status == status) return phrases[i].phrase;
  }
  return "";
}

const char *date_line(size_t *length) {
  static const char days[] = "SunMonTueWedThuFriSat";
  static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  static char line[64];
  static time_t written;
  static int size;
  time_t now = time(NULL);
  if (now != written) { /* once a second; by hand, since strftime follows the locale */
    struct tm t;
    gmtime_r(&now, &t);
    size = snprintf(line, sizeof(line), "date: %.3s, %02d %.3s %04d %02d:%02d:%02d GMT\r\n",
                    days + t.tm_wday * 3, t.tm_mday, months + t.tm_mon * 3, t.tm_year + 1900,
                    t.tm_hour, t.tm_min, t.tm_sec);
    written = now;
  }
  *length = (size_t) size;
  return line;
}
