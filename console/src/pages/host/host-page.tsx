import { Badge } from '../../parts/badge.tsx';
import { Button } from '../../parts/button.tsx';
import { IdentityText } from '../../parts/identity.tsx';
import { bytesText, countText } from '../../parts/numbers.ts';
import { PageFrame, Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { type DatabaseEntry, readDatabases } from '../../service/databases.ts';
import { useLoad } from '../../service/load.ts';
import { Link, pageAddress } from '../../shell/router.tsx';

const everyMillis = 3_000;

/** The databases that the caller may see. */
export function Page() {
  const databases = useLoad('databases', readDatabases, { everyMillis });
  return (
    <PageFrame
      title="Databases"
      about="What this service holds, as far as you may see it."
      actions={
        <Button kind="plain" icon="refresh" aria-label="Read again" onClick={databases.reload} />
      }
    >
      <Panel isBare>
        <WhenLoaded of={databases}>
          {(entries) =>
            entries.length === 0 ? (
              <Empty icon="database" title="No database yet">
                Publish a module: <code>reducerdb init my-app</code>, then{' '}
                <code>reducerdb publish my-db</code>.
              </Empty>
            ) : (
              <Table
                label="Databases"
                columns={columns}
                rows={entries}
                keyOf={({ identity }) => identity}
              />
            )
          }
        </WhenLoaded>
      </Panel>
    </PageFrame>
  );
}

const columns: readonly TableColumn<DatabaseEntry>[] = [
  {
    title: 'Name',
    cell: ({ name }) => <Link to={pageAddress(name, 'data')}>{name}</Link>,
  },
  { title: 'State', cell: ({ state }) => stateBadge(state) },
  {
    title: 'Owner',
    cell: ({ owner }) => (owner === null ? '–' : <IdentityText hex={owner} />),
  },
  {
    title: 'Rows',
    isNumber: true,
    cell: ({ rows }) => (rows === null ? '–' : countText(rows)),
  },
  {
    title: 'Memory',
    isNumber: true,
    cell: ({ memoryBytes }) => (memoryBytes === null ? '–' : bytesText(memoryBytes)),
  },
  {
    title: 'Last deploy',
    cell: ({ lastDeploy }) => (lastDeploy === null ? '–' : <Ago time={lastDeploy.at} />),
  },
];

function stateBadge(state: string | null) {
  if (state === null) return '–';
  const kind = state === 'serving' ? 'good' : state === 'failed' ? 'danger' : 'quiet';
  return (
    <Badge kind={kind} hasDot>
      {state}
    </Badge>
  );
}
