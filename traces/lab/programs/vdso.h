/* A function of the vDSO by its name ("__vdso_time"): NULL where the kernel gave no vDSO, or it has no such function. */
#ifndef VDSO_H
#define VDSO_H

void *vdso_function(const char *name);

#endif
