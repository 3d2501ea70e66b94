/* Finds the vDSO's functions in its symbol table, at the address the kernel gives as AT_SYSINFO_EHDR. */
#include "vdso.h"

#include "bare.h"

#include <elf.h>

void *vdso_function(const char *name)
{
	const char *image = (const char *)auxiliary(AT_SYSINFO_EHDR);

	if (!image)
		return NULL;
	/* The image is mapped whole, its section headers with it; it is linked to address 0. */
	const Elf64_Ehdr *header = (const void *)image;
	const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
	for (int i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_DYNSYM)
			continue;
		const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
		const char *names = image + sections[sections[i].sh_link].sh_offset;
		for (unsigned long s = 0; s < sections[i].sh_size / sizeof *symbols; s++)
			if (symbols[s].st_shndx != SHN_UNDEF && !strcmp(names + symbols[s].st_name, name))
				return (void *)(image + symbols[s].st_value);
	}
	return NULL;
}
