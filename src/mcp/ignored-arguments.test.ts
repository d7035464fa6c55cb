import { expect, it } from 'vitest';
import { type JsonObject, parseJson } from '../values/json.ts';
import { Cursors } from './cursors.ts';
import { ignoredText } from './ignored-arguments.ts';
import { listDatabases } from './tools/list-databases.ts';
import { logs } from './tools/logs.ts';
import { ping } from './tools/ping.ts';
import { sqlTool } from './tools/sql.ts';

const sql = sqlTool(new Cursors());
const remarks = (source: Parameters<typeof ignoredText>[0], text: string) =>
  ignoredText(source, parseJson(text) as JsonObject);

it('[ease 4.6] arguments that a tool does not have are named, with the nearest one', () => {
  expect(remarks(logs, '{"line":3}')).toEqual([
    expect.stringMatching(/^Ignored: `line` \(did you mean `lines`\?\)\. logs takes `lines`/),
  ]);
  expect(remarks(listDatabases, '{"limit":3}')).toEqual([
    'Ignored: `limit`. list_databases takes no arguments.',
  ]);
  const many = JSON.stringify(
    Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`${at}x`, 1])),
  );
  expect(remarks(ping, many)[0]).toContain('`4x`, …. ping takes');
  expect(remarks(ping, `{"${'y'.repeat(9_000)}":1}`)[0]?.length).toBeLessThan(200);
});

it('[ease 4.6] those that a tool has are not, also where they are not listed', () => {
  expect(remarks(sql, '{"sql":"","database":"a","max_rows":1,"params":[]}')).toEqual([]);
  expect(remarks(ping, '{}')).toEqual([]);
});
