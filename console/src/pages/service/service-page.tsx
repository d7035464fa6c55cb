import { Badge } from '../../parts/badge.tsx';
import { SearchField } from '../../parts/field.tsx';
import { countText } from '../../parts/numbers.ts';
import { Facts, PageFrame, Panel } from '../../parts/page.tsx';
import { Empty, Loading, WhenLoaded } from '../../parts/state.tsx';
import { Table, type TableColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useLoad } from '../../service/load.ts';
import { readSettings, type Setting } from '../../service/settings.ts';
import { useService } from '../../shell/database-context.tsx';
import { useParam } from '../../shell/router.tsx';
import styles from './service.module.css';

/** What the service is, what it can do, and its settings in force. */
export function Page() {
  const service = useService();
  return (
    <PageFrame title="Service" about="What runs here, and how it is set up.">
      <Panel title="About">
        {service === null ? (
          <Loading lines={3} />
        ) : (
          <Facts
            of={[
              ['Version', service.version],
              ['Started', <Ago key="started" time={service.startedAt} />],
              [
                'Can do',
                <span key="features" className={styles.features}>
                  {[...service.features].sort().map((feature) => (
                    <Badge key={feature}>{feature}</Badge>
                  ))}
                </span>,
              ],
              [
                'Logging in at',
                service.issuers.length === 0
                  ? 'no issuer: with a token, or reducerdb console'
                  : service.issuers.map(({ name }) => name).join(', '),
              ],
            ]}
          />
        )}
      </Panel>
      {service?.features.has('settings') === true && <Settings />}
    </PageFrame>
  );
}

function Settings() {
  const settings = useLoad('settings', readSettings);
  const [search, setSearch] = useParam('search');
  return (
    <Panel
      title="Settings in force"
      isBare
      actions={<SearchField label="Find settings" value={search} onChange={setSearch} />}
    >
      <WhenLoaded of={settings}>
        {(all) => {
          const text = search.trim().toLowerCase();
          const shown = all.filter(({ name, source }) => `${name} ${source}`.includes(text));
          if (all.length === 0) {
            return (
              <Empty icon="info" title="No settings are known">
                The service was started by a program, not by <code>reducerdb start</code>.
              </Empty>
            );
          }
          return (
            <>
              <p className={styles.count} role="status">
                {countText(shown.length)} of {countText(all.length)}
              </p>
              <Table label="Settings" columns={columns} rows={shown} keyOf={({ name }) => name} />
            </>
          );
        }}
      </WhenLoaded>
    </Panel>
  );
}

const columns: readonly TableColumn<Setting>[] = [
  { title: 'Setting', cell: ({ name }) => <code>{name}</code> },
  {
    title: 'Value',
    cell: ({ value, standard }) =>
      value === null ? (
        <span className={styles.standard}>{standard}</span>
      ) : (
        <code className={styles.value}>
          {typeof value === 'string' ? value : JSON.stringify(value)}
        </code>
      ),
  },
  {
    title: 'From',
    cell: ({ source }) => <Badge kind={source === 'default' ? 'quiet' : 'accent'}>{source}</Badge>,
  },
];
