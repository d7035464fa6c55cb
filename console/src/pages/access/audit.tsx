import { Badge } from '../../parts/badge.tsx';
import { SearchField, Switch } from '../../parts/field.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { type AuditEntry, readAudit } from '../../service/audit.ts';
import { readDatabase } from '../../service/databases.ts';
import { objectOf, textOf } from '../../service/json.ts';
import { useLoad } from '../../service/load.ts';
import { useParam } from '../../shell/router.tsx';
import styles from './access.module.css';

const entriesMax = 1_000;

/** Privileged actions, and those that were refused; operators alone see them. */
export function Audit({ database }: { readonly database: string }) {
  const [search, setSearch] = useParam('search');
  const [scope, setScope] = useParam('scope', 'database');
  const audit = useLoad(`audit ${database}`, async (signal) => {
    const [entries, facts] = await Promise.all([
      readAudit(entriesMax, signal),
      readDatabase(database, signal),
    ]);
    const identity = objectOf(facts).database_identity;
    const hex = textOf(objectOf(identity).__identity__ ?? identity).replace(/^0x/, '');
    return { entries, identity: hex };
  });
  return (
    <>
      <div className={styles.filters}>
        <SearchField label="Find entries" value={search} onChange={setSearch} />
        <Switch
          label="Of the whole service"
          isOn={scope === 'service'}
          onChange={(isOn) => setScope(isOn ? 'service' : 'database')}
        />
      </div>
      <Panel isBare>
        <WhenLoaded of={audit}>
          {({ entries, identity }) => {
            const text = search.trim().toLowerCase();
            const shown = entries.filter((entry) => {
              const isOf = scope === 'service' || entry.database === identity;
              return isOf && Object.values(entry).join(' ').toLowerCase().includes(text);
            });
            return shown.length === 0 ? (
              <Empty icon="history" title="No entry">
                Publishing, roles, tokens and refused requests are noted here.
              </Empty>
            ) : (
              <Table
                label="Audit log"
                columns={columns}
                rows={shown.map((entry, at) => ({ ...entry, key: `${entry.time} ${at}` }))}
                keyOf={({ key }) => key}
              />
            );
          }}
        </WhenLoaded>
      </Panel>
    </>
  );
}

const columns: readonly TableColumn<AuditEntry & { readonly key: string }>[] = [
  { title: 'When', cell: ({ time }) => <Ago time={time} /> },
  { title: 'Who', cell: ({ by }) => (by === null ? '–' : <IdentityText hex={by} />) },
  { title: 'From', cell: ({ from }) => <code>{from}</code> },
  { title: 'Did', cell: ({ action }) => action },
  {
    title: 'Outcome',
    cell: ({ outcome }) => <Badge kind={outcome === 'done' ? 'good' : 'warn'}>{outcome}</Badge>,
  },
  { title: 'More', cell: ({ detail }) => <code className={styles.statement}>{detail}</code> },
];
