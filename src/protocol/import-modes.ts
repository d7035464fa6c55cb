/** What happens to the rows that a table has when others are imported into it. */
export const importModes = ['empty', 'insert', 'upsert', 'replace'] as const;
