import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Postgres } from '../sql/differential/postgres.ts';
import { emptyReport, runDifferential } from '../sql/differential/run.ts';

const firstSeed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
const schemasPerChunk = 50;
const statementsPerSchema = 25;
const chunks = Number(process.env.CHUNKS ?? 20);

let postgres: Postgres;

beforeAll(async () => {
  postgres = await Postgres.open();
});
afterAll(() => postgres.close());

describe('the same statements here and in PostgreSQL', () => {
  it(`have the same answers, ${chunks} chunks of 1,250 statements, seed ${firstSeed}`, async () => {
    const report = emptyReport();
    for (let chunk = 0; chunk < chunks; chunk++) {
      const seed = firstSeed + chunk * schemasPerChunk;
      await runDifferential(
        postgres,
        { seed, schemas: schemasPerChunk, statementsPerSchema },
        report,
      );
      console.log(`seed ${seed}: ${JSON.stringify(report)}`);
    }
    const { statements, skipped, withRows } = report;
    expect(statements).toBe(chunks * schemasPerChunk * statementsPerSchema);
    expect(withRows).toBeGreaterThan(statements * 0.4);
    expect(skipped).toBeLessThan(statements * 0.02);
  });
});
