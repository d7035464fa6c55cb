import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { Input } from '../../parts/field.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { countText, microsText } from '../../parts/numbers.ts';
import { Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { type LedgerEntry, readLedger } from '../../service/ledger.ts';
import { useLoad } from '../../service/load.ts';
import { useParam } from '../../shell/router.tsx';
import styles from './access.module.css';

const everyMillis = 3_000;
const [firstEntries, moreEntries] = [100, 1_000];

/** Who did what, the newest first: the ledger of the database. */
export function Activity({ database }: { readonly database: string }) {
  const [identity, setIdentity] = useParam('identity');
  const [what, setWhat] = useParam('what');
  const [limit, setLimit] = useParam('entries', String(firstEntries));
  const hex = identity.trim().replace(/^0x/, '').toLowerCase();
  const isWhole = /^[0-9a-f]{64}$/.test(hex);
  const ask = { limit: Number(limit) || firstEntries, ...(isWhole ? { identity: hex } : {}) };
  const page = useLoad(
    `ledger ${database} ${JSON.stringify(ask)}`,
    (signal) => readLedger(database, ask, signal),
    { everyMillis },
  );
  return (
    <>
      <div className={styles.filters}>
        <Input
          isData
          type="search"
          aria-label="By whom"
          placeholder="identity, all 64 digits"
          value={identity}
          onChange={(event) => setIdentity(event.target.value)}
        />
        <Input
          type="search"
          aria-label="What was done"
          placeholder="function, statement or result"
          value={what}
          onChange={(event) => setWhat(event.target.value)}
        />
      </div>
      <Panel isBare>
        <WhenLoaded of={page}>
          {({ entries, cursor }) => {
            const text = what.trim().toLowerCase();
            const shown = entries.filter((entry) => {
              return `${entry.action} ${entry.what} ${entry.result}`.toLowerCase().includes(text);
            });
            return (
              <>
                {shown.length === 0 ? (
                  <Empty icon="history" title="Nothing was noted">
                    Calls, writes and refused attempts appear here a second after they were
                    answered.
                  </Empty>
                ) : (
                  <Table
                    label="Who did what"
                    columns={columns}
                    rows={shown.map((entry, at) => ({ ...entry, key: `${entry.time} ${at}` }))}
                    keyOf={({ key }) => key}
                  />
                )}
                {cursor !== null && ask.limit < moreEntries && (
                  <div className={styles.more}>
                    <Button onClick={() => setLimit(String(moreEntries))}>Look further back</Button>
                  </div>
                )}
              </>
            );
          }}
        </WhenLoaded>
      </Panel>
    </>
  );
}

const columns: readonly TableColumn<LedgerEntry & { readonly key: string }>[] = [
  { title: 'When', cell: ({ time }) => <Ago time={time} /> },
  {
    title: 'Who',
    cell: ({ identity, token }) => (
      <span className={styles.words}>
        {identity === null ? 'several, or the service' : <IdentityText hex={identity} />}
        {token !== null && <Badge title={`limited token ${token}`}>token</Badge>}
      </span>
    ),
  },
  { title: 'Did', cell: ({ action }) => action },
  {
    title: 'What',
    cell: ({ what }) => (
      <code className={styles.statement} title={what}>
        {what}
      </code>
    ),
  },
  {
    title: 'Result',
    cell: ({ result }) => <Badge kind={result === 'done' ? 'good' : 'warn'}>{result}</Badge>,
  },
  {
    title: 'Rows',
    isNumber: true,
    cell: ({ rows, count }) =>
      count > 1 ? `${countText(count)} times` : rows === null ? '–' : countText(rows),
  },
  {
    title: 'Took',
    isNumber: true,
    cell: ({ durationMillis }) =>
      durationMillis === null ? '–' : microsText(durationMillis * 1_000),
  },
  {
    title: 'Offset',
    isNumber: true,
    cell: ({ offset }) => (offset === null ? '–' : countText(offset)),
  },
];
