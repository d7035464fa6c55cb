/**
 * True if a script holds neither an `import()` expression nor an `async` function, whatever
 * surrounds these words in it: no place where one of them occurs is followed by what has to follow.
 * So it needs no parser, and is as sure of a word in a string as of one in code. False means only
 * that a parser has to look.
 *
 * It rests on the grammar of the language: neither word can be written with escapes, and
 *
 * ```
 * import ( …     import . …                                       reaches out
 * async function     async name =>     async name (     async (   a function, a method, a call
 * async * …     async [ …     async # …     async 'name' …     async 1.5 …    a method
 * ```
 *
 * Between the words and signs there is space, or a comment: one begins with `/`, or in a script
 * with `<!--` or `-->`. Names that are not plain ASCII count as anything.
 */
export function isSurelyTame(script: string): boolean {
  return ![mayBeImport, mayBeAsync, mayBeNamedAsync].some((wild) => wild.test(script));
}

const mayBeImport = /(?<![\w$])import\s*[(./<-]/;

const mayBeAsync = /(?<![\w$])async(?![\w$])\s*(?:[([=/<\\*#'"`-]|[^\0-\x7f]|function(?![\w$]))/;

const mayBeNamedAsync = /(?<![\w$])async(?![\w$])\s*[\w$.+]+\s*(?:[([=/<\\*#'"`-]|[^\0-\x7f])/;
