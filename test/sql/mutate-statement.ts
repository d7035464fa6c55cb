import { SqlFailure } from '../../src/sql/failure.ts';
import { lex } from '../../src/sql/syntax/lex.ts';
import type { Random } from '../../src/testing/random.ts';

/** A few changes at random places; `other` makes statements to take pieces from. */
export function mutate(sql: string, other: () => string, random: Random): string {
  let text = sql;
  // Words for words leave most statements well-formed, so that they get far.
  if (random.chance(0.5)) {
    for (let left = random.pick([1, 1, 2]); left > 0; left--) {
      text = replaceWord(text, other, random);
    }
    return text;
  }
  for (let left = random.pick([1, 1, 1, 2, 4]); left > 0; left--) {
    text = random.chance(0.3) ? mutateText(text, random) : mutateTokens(text, other, random);
  }
  return text;
}

const words = /^["'\w:$]/;

/** A name or literal in the place of another. */
function replaceWord(sql: string, other: () => string, random: Random): string {
  const pieces = piecesOf(sql);
  const places = pieces.flatMap((piece, at) => (words.test(piece) ? [at] : []));
  if (places.length === 0) return sql;
  const taken = random.chance(0.5) ? names : piecesOf(other()).filter((piece) => words.test(piece));
  const word = random.pick(taken.length === 0 ? names : taken);
  return pieces.with(random.pick(places), word).join(' ');
}

const names: readonly string[] = `t s users secret every_type opaque owned viewed filtered st_var id
  a x name flag u8 f32 f64 i256 bool string bytes ts uuid opt color point list duration t0 t1 c1 c2
  0 1 -1 255 1e3 1.5 0xab 'x' '5' TRUE NULL :sender $1 :name COUNT SUM MAX lower abs coalesce U32
  String`.split(/\s+/);

/** Pieces that may stand anywhere, those that open something above all. */
const fragments: readonly string[] = [
  ...`( ) , . ; * = == <> != < <= > >= + - / % || && :: [ ] { } : ? $ $1 $$ # @ ~ ! \\ ' " \` ''
  "" 'x' "t" 0 1 -1 1e3 1.5 .5 5. 1e 0x 0xF X'AB' B'1' TRUE NULL NOT AND OR XOR IN IS BETWEEN LIKE
  ILIKE ESCAPE CASE WHEN THEN ELSE END SELECT FROM WHERE LIMIT OFFSET ALL AS OF ON USING JOIN INNER
  LEFT CROSS NATURAL UPDATE SET DELETE INSERT INTO VALUES SHOW EXPLAIN ANALYZE WITH RECURSIVE UNION
  INTERSECT EXCEPT DISTINCT GROUP ORDER BY HAVING NULLS FIRST RETURNING OVER FILTER EXISTS CAST
  INTERVAL TIMESTAMP SUBSTRING TRIM BOTH EXTRACT POSITION FOR FETCH WINDOW LATERAL DEFAULT :sender
  COUNT(*) t s a id -- /* */ 🙂 ß \u0000 \uD800`.split(/\s+/),
  'a IN (SELECT ',
  'EXISTS (SELECT 1 FROM t WHERE ',
  'CASE WHEN ',
  ' UNION SELECT 1',
  'AS OF ',
  ' IS NOT NULL',
  '::int',
  'NOT (',
  '- ',
];

function mutateText(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const end = Math.min(text.length, at + random.below(12));
  switch (random.below(5)) {
    case 0:
      return text.slice(0, at) + text.slice(end);
    case 1:
      return text.slice(0, at) + random.pick(fragments) + text.slice(end);
    case 2:
      return text.slice(0, at);
    case 3:
      return text.slice(0, at) + String.fromCharCode(random.below(0x180)) + text.slice(at + 1);
    default:
      return text.slice(0, end) + text.slice(at);
  }
}

/** Mutations that keep words whole get much deeper into the grammar. */
function mutateTokens(sql: string, other: () => string, random: Random): string {
  const pieces = piecesOf(sql);
  if (pieces.length === 0) return random.pick(fragments);
  const at = random.below(pieces.length);
  const to = Math.min(pieces.length, at + 1 + random.below(8));
  switch (random.below(8)) {
    case 0:
      return pieces.toSpliced(at, to - at).join(' ');
    case 1:
      return pieces.toSpliced(at, 0, random.pick(fragments)).join(' ');
    case 2:
      return pieces.with(at, random.pick(fragments)).join(' ');
    case 3:
      return pieces.with(at, random.pick(pieces)).join(' ');
    case 4: {
      const run = pieces.slice(at, to);
      const times = random.pick([1, 3, 60, 600]);
      return pieces.toSpliced(at, 0, ...new Array<string[]>(times).fill(run).flat()).join(' ');
    }
    case 5: {
      const others = piecesOf(other());
      const from = random.below(others.length);
      return pieces.toSpliced(at, to - at, ...others.slice(from, from + 8)).join(' ');
    }
    case 6:
      return `${pieces.slice(0, at).join(' ')} (${other()}) ${pieces.slice(at).join(' ')}`;
    default: {
      const depth = random.pick([2, 40, 60, 1_000]);
      const open = random.pick(fragments);
      return pieces.with(at, `${open} `.repeat(depth) + (pieces[at] ?? '')).join(' ');
    }
  }
}

function piecesOf(sql: string): readonly string[] {
  try {
    return lex(sql).flatMap(({ start, end }) => (end > start ? [sql.slice(start, end)] : []));
  } catch (error) {
    if (error instanceof SqlFailure) return sql.split(' ');
    throw error;
  }
}
