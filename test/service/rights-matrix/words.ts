/** What the guide calls an answer; the answer itself when it has no word for it. */
export function wordFor(answer: string): string {
  const text = withoutHint(answer);
  return refusals.find(([pattern]) => pattern.test(text))?.[1] ?? text;
}

/** The text of an error without the hint that stands below it over HTTP. */
export function withoutHint(text: string): string {
  return text.replace(/\nhint: .*$/, '');
}

const refusals: readonly (readonly [RegExp, string])[] = [
  // By a tool; everywhere else.
  [/^no such table: \w+$/, 'hidden'],
  [/^no such table: `\w+`\. If the table exists, it may be marked private\.($|, exec)/, 'hidden'],
  [/^Caller [0-9a-f]{64} is not authorized to run SQL DML statements$/, 'denied'],
  [/^The result has more than 2 rows; /, 'too many'],
  [/^Estimated cardinality \(3 rows\) exceeds limit \(1 rows\)$/, 'too large'],
  [/^Unsupported: SQL cannot change the system table `st_table`$/, 'fixed'],
  [/^(?:no such reducer|No such procedure)$/, 'unknown'],
  [/^can't directly call special Init lifecycle reducer$/, 'lifecycle'],
  [/^[0-9a-f]{64} is not authorized to preview: ask the owner for the role developer, /, 'unseen'],
  [/^Nothing has happened: .* would (?:commit|succeed)/, 'yes'],
  [/^unknown tool: (?:call|put_note|tidy|count_notes|sweep)$/, 'closed'],
  [/^«data \w+»\n(?:\d{4}-|\{"(?:entries|kind)":)/, 'yes'],
  [
    /is not authorized to perform action on database [0-9a-f]{64}: (?:update database|view (?:module logs|ledger|source))$/,
    'no',
  ],
  [/^reducer '\w+' committed$/, 'yes'],
  [/^procedure '\w+' returned: /, 'yes'],
  [/^'\w+' is a procedure: it cannot be previewed$/, 'never'],
  [/^pong$/, 'yes'],
  [/^`[0-9a-f]+` not found$/, 'absent'],
];

/** The word for the JSON of a statement's result. */
export function wordForResult(json: string): string {
  // Over HTTP and over MCP, whose form is shorter.
  const [result] = JSON.parse(json) as {
    rows: unknown[];
    schema?: { elements: unknown[] };
    columns?: unknown[];
  }[];
  const columns = result?.columns ?? result?.schema?.elements ?? [];
  const isRead = result !== undefined && columns.length > 0;
  return isRead && result.rows.length === 0 ? 'no rows' : 'yes';
}
