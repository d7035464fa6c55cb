import { Badge } from '../../parts/badge.tsx';
import { Select } from '../../parts/field.tsx';
import { Panel } from '../../parts/page.tsx';
import { Empty, WhenLoaded } from '../../parts/state.tsx';
import { type Deploy, readDeploys } from '../../service/deploys.ts';
import { useLoad } from '../../service/load.ts';
import { readDeploySchema } from '../../service/schema.ts';
import { useParam } from '../../shell/router.tsx';
import { type Difference, differenceOf } from './difference-of.ts';
import styles from './schema.module.css';

/** What changed in the schema from one deploy to another. */
export function Differences({ database }: { readonly database: string }) {
  const deploys = useLoad(database, async (signal) => {
    return (await readDeploys(database, signal)).filter(({ isKept }) => isKept);
  });
  return (
    <WhenLoaded of={deploys}>
      {(list) =>
        list.length < 2 ? (
          <Panel>
            <Empty icon="deploy" title="Nothing to compare yet">
              There are differences once a second program was published.
            </Empty>
          </Panel>
        ) : (
          <Compared database={database} deploys={list} />
        )
      }
    </WhenLoaded>
  );
}

interface ComparedProps {
  readonly database: string;
  /** The newest first. */
  readonly deploys: readonly Deploy[];
}

function Compared({ database, deploys }: ComparedProps) {
  const [from, setFrom] = useParam('from', String(deploys[1]?.number));
  const [to, setTo] = useParam('to', String(deploys[0]?.number));
  const differences = useLoad(`${database}\n${from}\n${to}`, async (signal) => {
    const read = (number: string) => readDeploySchema(database, Number(number), signal);
    const [before, after] = await Promise.all([read(from), read(to)]);
    return differenceOf(before, after);
  });
  return (
    <>
      <div className={styles.compare}>
        <DeployChoice label="From" value={from} onChange={setFrom} deploys={deploys} />
        <span aria-hidden="true">→</span>
        <DeployChoice label="To" value={to} onChange={setTo} deploys={deploys} />
      </div>
      <WhenLoaded of={differences}>
        {(list) =>
          list.length === 0 ? (
            <Panel>
              <Empty icon="check" title="The same schema">
                Only code changed between these two deploys.
              </Empty>
            </Panel>
          ) : (
            <Panel isBare>
              <ul className={styles.differences}>
                {list.map((each) => (
                  <DifferenceItem key={`${each.what} ${each.name}`} difference={each} />
                ))}
              </ul>
            </Panel>
          )
        }
      </WhenLoaded>
    </>
  );
}

interface DeployChoiceProps extends Pick<ComparedProps, 'deploys'> {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function DeployChoice({ label, value, onChange, deploys }: DeployChoiceProps) {
  return (
    <Select
      aria-label={`${label} deploy`}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {deploys.map(({ number, message }) => (
        <option key={number} value={String(number)}>
          {message === null ? `Deploy ${number}` : `Deploy ${number}: ${message.slice(0, 60)}`}
        </option>
      ))}
    </Select>
  );
}

const kinds = { added: 'good', removed: 'danger', changed: 'warn' } as const;

function DifferenceItem({ difference }: { readonly difference: Difference }) {
  const { kind, what, name, lines } = difference;
  return (
    <li>
      <p className={styles.differenceHead}>
        <Badge kind={kinds[kind]}>{kind}</Badge> {what} <code>{name}</code>
      </p>
      <ul className={styles.lines}>
        {lines.map((line) => (
          <li key={line} data-mark={line.slice(0, 1)}>
            {line}
          </li>
        ))}
      </ul>
    </li>
  );
}
