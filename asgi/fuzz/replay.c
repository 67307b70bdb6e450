/* Runs a fuzz target over files, for compilers without a fuzzer of their own. */
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int count, char **paths) {
  static uint8_t data[1 << 16];
  for (int i = 1; i < count; i++) {
    FILE *file = fopen(paths[i], "rb");
    if (file == NULL) return 2;
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    LLVMFuzzerTestOneInput(data, size);
  }
  printf("%d inputs\n", count - 1);
  return 0;
}
