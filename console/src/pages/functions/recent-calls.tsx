import { useState } from 'react';
import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { countText, microsText } from '../../parts/numbers.ts';
import { Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { type LedgerEntry, readLedger } from '../../service/ledger.ts';
import { useLoad } from '../../service/load.ts';
import { useDatabase } from '../../shell/database-context.tsx';
import { Link, pageAddress } from '../../shell/router.tsx';
import styles from './functions.module.css';

const everyMillis = 2_000;
/** Entries that are looked through: those of one function are picked out of all. */
const steps = [200, 1_000];
const kinds = new Set(['call', 'procedure', 'handler', 'schedule']);

/** Who called a function, or any, and what came of it; follows. */
export function RecentCalls({ name }: { readonly name: string | null }) {
  const { database } = useDatabase();
  const [step, setStep] = useState(0);
  const limit = steps[step] ?? 200;
  const page = useLoad(
    `calls ${database} ${limit}`,
    (signal) => readLedger(database, { limit }, signal),
    { everyMillis },
  );
  return (
    <div className={styles.calls}>
      <Panel isBare>
        <WhenLoaded of={page}>
          {({ entries, cursor }) => {
            const calls = entries.filter(({ action, what }) => {
              return kinds.has(action) && (name === null || what === name);
            });
            const isMore = cursor !== null && step < steps.length - 1;
            return (
              <>
                {calls.length === 0 ? (
                  <Empty icon="clock" title="No calls">
                    {isMore
                      ? `None among the last ${countText(limit)} entries of the ledger.`
                      : 'Calls appear here up to a second after they were answered.'}
                  </Empty>
                ) : (
                  <Table
                    label="Recent calls"
                    columns={name === null ? allColumns(database) : columns}
                    rows={calls.map((entry, at) => ({ ...entry, key: `${entry.time} ${at}` }))}
                    keyOf={({ key }) => key}
                  />
                )}
                {isMore && (
                  <div className={styles.more}>
                    <Button onClick={() => setStep(step + 1)}>Look further back</Button>
                  </div>
                )}
              </>
            );
          }}
        </WhenLoaded>
      </Panel>
    </div>
  );
}

type Row = LedgerEntry & { readonly key: string };

const columns: readonly TableColumn<Row>[] = [
  { title: 'Time', cell: ({ time }) => <Ago time={time} /> },
  {
    title: 'Caller',
    cell: ({ identity, token, count }) => (
      <span className={styles.caller}>
        {identity === null ? `${countText(count)} times` : <IdentityText hex={identity} />}
        {token !== null && <Badge title={`limited token ${token}`}>token</Badge>}
      </span>
    ),
  },
  { title: 'Outcome', cell: ({ result }) => <OutcomeBadge result={result} /> },
  {
    title: 'Duration',
    isNumber: true,
    cell: ({ durationMillis }) => {
      return durationMillis === null ? '–' : microsText(durationMillis * 1_000);
    },
  },
  {
    title: 'Rows',
    isNumber: true,
    cell: ({ rows }) => (rows === null ? '–' : countText(rows)),
  },
  {
    title: 'Commit',
    isNumber: true,
    cell: ({ offset }) => (offset === null ? '–' : countText(offset)),
  },
];

function allColumns(database: string): readonly TableColumn<Row>[] {
  const [time, ...rest] = columns;
  const of: TableColumn<Row> = {
    title: 'Function',
    cell: ({ what, action }) => (
      <span className={styles.caller}>
        <Link to={pageAddress(database, 'functions', { f: what })}>{what}</Link>
        {action === 'schedule' && <Badge>schedule</Badge>}
      </span>
    ),
  };
  return time === undefined ? [] : [time, of, ...rest];
}

function OutcomeBadge({ result }: { readonly result: string }) {
  if (result === 'done') return <Badge kind="good">done</Badge>;
  const isRefused = result.startsWith('reducer.refused') || result === 'arguments.invalid';
  return <Badge kind={isRefused ? 'warn' : 'danger'}>{result}</Badge>;
}
