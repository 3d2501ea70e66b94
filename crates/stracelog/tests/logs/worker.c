/* Threads that share a lock, a child that runs another program, and failing lookups. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *unused) { for (int i = 0; i < 4; i++) { pthread_mutex_lock(&lock); usleep(2000); pthread_mutex_unlock(&lock); } return unused; }
static void *crash(void *unused) { usleep(3000); *(volatile int *)0x18 = 1; return unused; }
int main(int count, char **arguments) {
    if (count > 1 && !strcmp(arguments[1], "child")) return 3;
    struct stat status;
    for (int i = 0; i < 3; i++) { stat("/srv/app/missing.conf", &status); access("/srv/app/worker.conf", R_OK); }
    int file = open("/srv/app/data", O_RDWR | O_CREAT, 0644);
    write(file, "some \"data\"\n", 12); lseek(file, 0, SEEK_SET); char buffer[64]; read(file, buffer, sizeof buffer); close(file);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    if (fork() == 0) { execl("/srv/app/worker", "worker", "child", (char *)0); _exit(9); }
    wait(0);
    if (write(2, "hello\n", 6) != 6) return 1;
    if (count > 1) { pthread_create(&threads[0], 0, crash, 0); pthread_join(threads[0], 0); }
    return 0;
}
