import { describe, expect, it } from 'vitest';
import { Random } from '../../src/testing/random.ts';
import { buildText } from '../support/build-text.ts';
import { CoreUnderTest } from '../support/core-under-test.ts';
import { someSeeds } from '../support/share.ts';
import { type CoreClient, CoreClients, changesIn } from './core-clients.ts';

/** Lists, texts and vectors with their indexes, and a column with a default. */
const moduleText = `
import { schema, t, table } from 'reducerdb/server';
const note = table({ public: true }, {
  id: t.u32().primaryKey(),
  labels: t.array(t.string()).index('inverted'),
  body: t.string().index('text', { language: 'english' }),
  place: t.vector(2).index('vector', { metric: 'l2' }),
  stars: t.u32().default(3),
});
const tag = table({ public: true }, { id: t.u32().primaryKey(), name: t.string().index() });
export default schema({ note, tag });
`;

const lists = [
  "SELECT * FROM note WHERE labels @> ARRAY['a', 'b']",
  "SELECT id FROM note WHERE 'c' = ANY(labels) AND stars > 1",
  'SELECT note.id, u.label FROM note, unnest(note.labels) AS u(label)',
  "SELECT u.label, count(*) AS n FROM note, unnest(note.labels) AS u(label) WHERE u.label <> 'd' " +
    'GROUP BY u.label',
  'SELECT stars, array_agg(id ORDER BY id) AS ids FROM note GROUP BY stars',
  'SELECT array_length(labels) AS n, count(*) AS notes FROM note GROUP BY array_length(labels)',
  'SELECT tag.name, note.id FROM tag JOIN note ON tag.name = ANY(note.labels)',
  'SELECT id, labels[1] AS first FROM note ORDER BY id LIMIT 3',
];
const texts = [
  "SELECT * FROM note WHERE search(body, 'fox')",
  "SELECT id FROM note WHERE search(body, 'red fox OR jump*') AND NOT search(body, 'lazy')",
  `SELECT id FROM note WHERE search(body, '"red fox"') ORDER BY id DESC LIMIT 2`,
  "SELECT count(*) AS n FROM note WHERE search(body, 'dogs -red')",
  "SELECT id, rank(body, 'fox dog') AS r FROM note WHERE search(body, 'fox OR dog') " +
    'ORDER BY r DESC, id LIMIT 4',
  "SELECT id, highlight(body, 'jumping') AS shown FROM note WHERE search(body, 'jumping')",
  "SELECT note.id FROM note JOIN tag ON tag.id = note.id WHERE search(note.body, 'red')",
];
const vectors = [
  'SELECT id FROM note ORDER BY distance(place, ARRAY[1, 2]), id LIMIT 3',
  'SELECT id, cosine_distance(place, ARRAY[3, 1]) AS d FROM note ORDER BY d, id LIMIT 4',
  'SELECT id FROM note WHERE stars > 2 ORDER BY inner_product(place, ARRAY[1, 1]) DESC, id LIMIT 2',
  'SELECT * FROM note WHERE distance(place, ARRAY[0, 0]) < 4',
  'SELECT count(*) AS n, min(distance(place, ARRAY[2, 2])) AS nearest FROM note',
  'SELECT note.id FROM tag JOIN note ON tag.id = note.id ' +
    'ORDER BY distance(note.place, ARRAY[4, 4]), note.id LIMIT 2',
];
/** What is read of the columns that the writes below set in their several ways. */
const written = [
  'SELECT * FROM note',
  'SELECT * FROM note WHERE stars = 3',
  'SELECT tag.* FROM note JOIN tag ON note.id = tag.id WHERE note.stars > 1',
  'SELECT stars, count(*) AS n FROM note GROUP BY stars',
  'SELECT id, stars FROM note ORDER BY stars DESC, id LIMIT 3',
  'SELECT * FROM tag WHERE id IN (SELECT id FROM note WHERE stars >= 3)',
];

interface Watched {
  readonly client: CoreClient;
  readonly sql: string;
  readonly number: number | undefined;
  readonly rows: string[];
}

class Run {
  /** Writes that changed something. */
  commits = 0;
  readonly #random: Random;
  readonly #database: CoreUnderTest;
  readonly #clients: CoreClients;
  readonly #watched: Watched[] = [];

  constructor(seed: number, database: CoreUnderTest) {
    this.#random = new Random(seed);
    this.#database = database;
    this.#clients = new CoreClients(database);
  }

  watch(sql: string): void {
    const client = this.#clients.connect(undefined, 'full');
    const first = client.subscribe(1, sql);
    if (typeof first === 'string') throw new Error(first);
    const [number] = client.numbers;
    this.#watched.push({ client, sql, number, rows: first.flat() });
    this.#clients.take();
  }

  step(): void {
    const outcome = this.#database.sql(this.#write());
    if (outcome.kind === 'failed') throw new Error(JSON.stringify(outcome.error));
    for (const commit of this.#clients.take()) {
      this.commits += 1;
      expect(commit.failures).toEqual([]);
      for (const { sql, number, rows } of this.#watched) {
        for (const change of changesIn(this.#database, commit, number)) {
          const text = change.slice(1);
          const at = rows.indexOf(text);
          if (change.startsWith('+')) rows.push(text);
          else if (at >= 0) rows.splice(at, 1);
          else throw new Error(`${sql}: ${text} is not there`);
        }
      }
    }
    for (const { client, sql, rows } of this.#watched) {
      expect([...rows].sort(), sql).toEqual(client.once(sql));
    }
  }

  #write(): string {
    const random = this.#random;
    const [id, other, stars] = [random.below(12), random.below(12), random.below(5)];
    const columns = 'id, labels, body, place';
    switch (random.below(12)) {
      case 0:
        return `DELETE FROM note WHERE id = ${id} OR stars = ${stars}`;
      case 1:
        return `UPDATE note SET labels = ${this.#labels()}, body = '${this.#body()}' WHERE id < ${id}`;
      case 2:
        return `UPDATE note SET place = ${this.#place()} WHERE stars = ${stars}`;
      case 3:
        return `UPDATE note SET stars = tag.id FROM tag WHERE tag.id = note.id AND tag.id > ${other}`;
      case 4:
        return `UPDATE note SET stars = (SELECT count(*) FROM tag WHERE tag.id < ${other}) WHERE id = ${id}`;
      case 5:
        return `DELETE FROM note USING tag WHERE tag.id = note.id AND tag.name = '${random.pick(labels)}'`;
      case 6:
        return (
          `INSERT INTO tag (id, name) VALUES (${id}, '${random.pick(labels)}') ` +
          'ON CONFLICT (id) DO UPDATE SET name = excluded.name'
        );
      case 7:
        return `INSERT INTO note (${columns}) VALUES ${this.#row(id)} ON CONFLICT (id) DO NOTHING`;
      case 8:
        return `DELETE FROM tag WHERE id = ${other}`;
      default:
        return (
          `INSERT INTO note (${columns}) VALUES ${this.#row(id)}` +
          `${id === other ? '' : `, ${this.#row(other)}`} ON CONFLICT (id) DO UPDATE SET ` +
          'labels = excluded.labels, body = excluded.body, place = excluded.place, ' +
          'stars = note.stars + 1 WHERE note.stars < 6'
        );
    }
  }

  #row(id: number): string {
    return `(${id}, ${this.#labels()}, '${this.#body()}', ${this.#place()})`;
  }

  #labels(): string {
    const random = this.#random;
    const list = Array.from({ length: random.below(4) }, () => `'${random.pick(labels)}'`);
    return `ARRAY[${list.join(', ')}]`;
  }

  #body(): string {
    const random = this.#random;
    return Array.from({ length: random.below(6) }, () => random.pick(words)).join(' ');
  }

  #place(): string {
    return `ARRAY[${this.#random.below(6)}, ${this.#random.below(6)}]`;
  }
}

const labels = ['a', 'b', 'c', 'd'];
const words = ['red', 'fox', 'foxes', 'jumps', 'jumping', 'lazy', 'dog', 'dogs', 'The'];

describe.each([
  ['[ease 3.3] lists', lists],
  ['[ease 3.11] texts', texts],
  ['[ease 3.12] vectors', vectors],
  ['[ease 3.4] defaults, conflicts and writes that read', written],
])('%s, watched', (_, queries) => {
  it.each(someSeeds(1, 8))('are as they are asked afresh (seed %s)', async (seed) => {
    const run = new Run(seed, await CoreUnderTest.of(await buildText(moduleText)));
    for (let at = 0; at < 6; at++) run.step();
    for (const sql of queries) run.watch(sql);
    for (let at = 0; at < 60; at++) run.step();
    expect(run.commits).toBeGreaterThan(20);
  });
});
