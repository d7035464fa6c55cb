import styles from './sparkline.module.css';

interface SparklineProps {
  /** The newest last. */
  readonly values: readonly number[];
  /** What the last of them says, beside the line. */
  readonly text: string;
}

const [width, height] = [64, 18];
/** The room that a line has, in values. */
export const sparkValues = 32;

/** A small line of how a number went; the number itself stands beside it. */
export function Sparkline({ values, text }: SparklineProps) {
  const shown = values.slice(-sparkValues);
  const top = Math.max(1, ...shown);
  const step = width / (sparkValues - 1);
  const points = shown.map((value, at) => {
    const x = width - (shown.length - 1 - at) * step;
    const y = height - 1.5 - (value / top) * (height - 3);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <span className={styles.spark}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
        <polyline points={points.join(' ')} />
      </svg>
      <span className={styles.text}>{text}</span>
    </span>
  );
}
