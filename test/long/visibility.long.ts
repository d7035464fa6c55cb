/** The matrix of what hidden rows may not show, with all probes under each row limit. */
process.env.VISIBILITY_WHOLE = '1';
await import('../service/visibility-matrix.test.ts');
