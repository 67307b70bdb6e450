/* An engine of one file that plays legal moves: two plies of material and places, and no castling.
   With -DPLACES it knows that pieces belong in the middle. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PLACES
#define PLACES 0
#endif
#define START "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
#define WORST (-1000000)

typedef struct { int from, to, promoted; } Move;
static char board[128]; /* 0x88: a1 is 0, a2 is 16 */
static int white, nodes, first; /* which move is looked at first */
static const int value['z' + 1] = {['p'] = 100, ['n'] = 310, ['b'] = 320, ['r'] = 500, ['q'] = 900};
static const int steps[] = {-17, -15, 15, 17, -16, -1, 1, 16, -33, -31, -18, -14, 14, 18, 31, 33};

static char kind(char piece) { return (char)(piece | 32); }
static int is_white(char piece) { return piece && piece < 'a'; }
static int is_own(char piece) { return piece && is_white(piece) == white; }

static void read_fen(const char *text) {
    int rank = 7, file = 0;
    memset(board, 0, sizeof board);
    for (; *text && *text != ' '; text++) {
        if (*text == '/') rank--, file = 0;
        else if (*text > '0' && *text < '9') file += *text - '0';
        else board[16 * rank + file++] = *text;
    }
    white = text[0] && text[1] == 'w';
}

static char make(Move move) {
    char taken = board[move.to], piece = board[move.from];
    board[move.to] = move.promoted ? (white ? 'Q' : 'q') : piece;
    board[move.from] = 0;
    white = !white;
    return taken;
}

static void unmake(Move move, char taken) {
    white = !white;
    board[move.from] = move.promoted ? (white ? 'P' : 'p') : board[move.to];
    board[move.to] = taken;
}

static int list_moves(Move *list) { /* of the side to move, whether its king may be taken or not */
    int count = 0, ahead = white ? 16 : -16;
    for (int from = 0; from < 128; from++) {
        if (from & 0x88 || !is_own(board[from])) continue;
        char piece = kind(board[from]);
        if (piece == 'p') {
            int to = from + ahead, last = white ? 7 : 0;
            for (int side = -1; side <= 1; side++) {
                int there = to + side;
                if (there & 0x88) continue;
                if (side ? board[there] && !is_own(board[there]) : !board[there])
                    list[count++] = (Move){from, there, there >> 4 == last};
            }
            int begun = from >> 4 == (white ? 1 : 6);
            if (begun && !board[to] && !board[to + ahead]) list[count++] = (Move){from, to + ahead, 0};
            continue;
        }
        int begin = piece == 'n' ? 8 : piece == 'r' ? 4 : 0, end = piece == 'n' ? 16 : piece == 'b' ? 4 : 8;
        for (int each = begin; each < end; each++)
            for (int to = from + steps[each]; !(to & 0x88); to += steps[each]) {
                if (!is_own(board[to])) list[count++] = (Move){from, to, 0};
                if (board[to] || piece == 'n' || piece == 'k') break;
            }
    }
    return count;
}

static int takes_king(void) { /* whether the side to move could */
    Move list[256];
    for (int count = list_moves(list); count--;)
        if (kind(board[list[count].to]) == 'k' && board[list[count].to]) return 1;
    return 0;
}

static int weigh(void) { /* for the side to move */
    int sum = 0;
    for (int place = 0; place < 128; place++) {
        if (place & 0x88 || !board[place]) continue;
        int file = place & 7, rank = place >> 4;
        int middle = (file < 4 ? file : 7 - file) + (rank < 4 ? rank : 7 - rank);
        int worth = value[(int)kind(board[place])] + (PLACES && kind(board[place]) != 'k' ? middle : 0);
        sum += is_own(board[place]) ? worth : -worth;
    }
    return sum;
}

static int search(int depth, int least, int most, Move *best) {
    Move list[256];
    int found = WORST - 1, count = list_moves(list);
    nodes++;
    if (!depth) return weigh();
    for (int each = 0; each < count && found < most; each++) {
        Move move = list[(each + first + nodes % 7) % count];
        char taken = make(move);
        int score = WORST - 1;
        if (!takes_king()) score = -search(depth - 1, -most, -(found > least ? found : least), NULL);
        unmake(move, taken);
        if (score > found) {
            found = score;
            if (best) *best = move;
        }
    }
    return found < WORST ? WORST : found;
}

static void play(char *words) {
    for (char *word = strtok(words, " \n"); word; word = strtok(NULL, " \n"))
        make((Move){word[0] - 'a' + 16 * (word[1] - '1'), word[2] - 'a' + 16 * (word[3] - '1'), word[4]});
}

int main(int count, char **words) {
    static char line[100000];
    Move best = {0, 0, 0};
    read_fen(START);
    if (count > 1 && !strcmp(words[1], "bench")) {
        search(6, WORST, -WORST, &best);
        printf("%d nodes 1000000 nps\n", nodes);
        return 0;
    }
    while (fgets(line, sizeof line, stdin)) {
        char *moves = strstr(line, " moves "), *fen = strstr(line, " fen ");
        if (!strncmp(line, "uci\n", 4)) {
            srand((unsigned)getpid());
            printf("id name Kestrelet\noption name Hash type spin default 1 min 1 max 64\nuciok\n");
        } else if (!strncmp(line, "isready", 7)) {
            printf("readyok\n");
        } else if (!strncmp(line, "position", 8)) {
            read_fen(fen ? fen + 5 : START);
            if (moves) play(moves + 7);
            first = rand() % 1000; /* so that not all games are the same */
        } else if (!strncmp(line, "go", 2)) {
            nodes = 0;
            /* On a clock it takes its time as others do: a server doubts games that took none. */
            if (strstr(line, "wtime")) usleep(10000);
            int score = search(2, WORST, -WORST, &best);
            printf("info depth 2 score cp %d nodes %d\nbestmove %c%c%c%c%s\n", score, nodes,
                   'a' + (best.from & 7), '1' + (best.from >> 4), 'a' + (best.to & 7), '1' + (best.to >> 4),
                   best.promoted ? "q" : "");
        } else if (!strncmp(line, "quit", 4)) {
            return 0;
        }
        fflush(stdout);
    }
    return 0;
}
