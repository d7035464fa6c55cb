import type { Json } from '../service/json.ts';
import type { ValueType } from '../service/types.ts';
import { classes } from './classes.ts';
import styles from './value.module.css';
import { shownValue, visibleText } from './values.ts';

/** One value, on one line. */
export function Value({
  type,
  value,
}: {
  readonly type: ValueType;
  readonly value: Json | undefined;
}) {
  const { text, kind, title } = shownValue(type, value);
  // Line ends would break the line; they are shown as what they are.
  const line = visibleText(text)
    .replace(/\r\n?|\n/g, '⏎')
    .replace(/\t/g, '⇥');
  return (
    <span className={classes(styles.value, styles[kind])} title={title}>
      {line}
    </span>
  );
}
