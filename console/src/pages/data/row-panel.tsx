import type { ReactNode } from 'react';
import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { rowsAsJson } from '../../parts/rows-as-text.ts';
import { durationText, localTime } from '../../parts/times.ts';
import { microsOf, plainValue, textOfBytes, typedText, visibleText } from '../../parts/values.ts';
import type { Json } from '../../service/json.ts';
import { type Field, typeName, type ValueType } from '../../service/types.ts';
import { Link } from '../../shell/router.tsx';
import type { Row } from './grid-query.ts';
import type { ShownColumn } from './grid-row.tsx';
import styles from './row-panel.module.css';

interface RowPanelProps {
  readonly title: string;
  /** Chooses between the values of the row and its history, where there is one. */
  readonly tabs: ReactNode;
  /** What stands in the place of the values, if it is chosen. */
  readonly instead: ReactNode | null;
  readonly fields: readonly Field[];
  readonly columns: readonly ShownColumn[];
  readonly row: Row;
  readonly whyNoDelete: string | false;
  readonly onDelete: () => void;
  readonly onClose: () => void;
}

/** One row with all of its values, whole. */
export function RowPanel(props: RowPanelProps) {
  const { title, tabs, instead, fields, columns, row, whyNoDelete, onDelete, onClose } = props;
  const foot = (
    <>
      <Button kind="danger" icon="trash" off={whyNoDelete} onClick={onDelete}>
        Delete row
      </Button>
      <Copy text={() => rowsAsJson(fields, [row])} what="row" label="Copy as JSON" />
    </>
  );
  return (
    <Dialog title={title} form="side" onClose={onClose} foot={foot}>
      {tabs}
      {instead ?? <Values fields={fields} columns={columns} row={row} />}
    </Dialog>
  );
}

function Values({ fields, columns, row }: Pick<RowPanelProps, 'fields' | 'columns' | 'row'>) {
  return (
    <div className={styles.fields}>
      {fields.map((field, at) => {
        const column = columns.find((each) => each.field.name === field.name);
        const address = column?.follow?.(row[at]) ?? null;
        return (
          <section key={field.name} className={styles.field} aria-label={field.name}>
            <header className={styles.name}>
              {field.name}
              <span>{typeName(field.type)}</span>
              <Copy text={() => typedText(field.type, row[at])} what={field.name} />
            </header>
            <pre className={styles.text}>{visibleText(wholeText(field.type, row[at]))}</pre>
            <OtherForm type={field.type} value={row[at]} />
            {address !== null && <Link to={address}>Go to {column?.leadsTo}</Link>}
          </section>
        );
      })}
    </div>
  );
}

function wholeText(type: ValueType, value: Json | undefined): string {
  const inner = type.kind === 'option' ? type.some() : type;
  const plain = plainValue(type, value);
  if (plain !== null && inner.kind === 'bytes') return `0x${String(plain)}`;
  if (plain !== null && inner.kind === 'duration') {
    return `${durationText(BigInt(String(plain)))} (${String(plain)} µs)`;
  }
  if (plain === null) return 'none';
  return typeof plain === 'string' ? plain : JSON.stringify(plain, null, 2);
}

/** Local time beside UTC, text beside hex. */
function OtherForm(props: { readonly type: ValueType; readonly value: Json | undefined }) {
  const { type, value = null } = props;
  if (type.kind === 'timestamp') {
    const millis = Number(microsOf(value) / 1_000n);
    return <p className={styles.other}>{localTime(millis)} local</p>;
  }
  const text = type.kind === 'bytes' ? textOfBytes(String(value)) : undefined;
  return text === undefined ? null : <p className={styles.other}>as text: {text}</p>;
}
