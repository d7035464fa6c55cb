/** The matrix of what hidden rows may not show, with all probes under each row limit. */
await import('../service/visibility-matrix.test.ts');
