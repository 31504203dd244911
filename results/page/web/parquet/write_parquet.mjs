// node write_parquet.mjs OUTPUT ROWS: the Parquet writer behind `dvfs-plan export --format parquet`.
// ROWS: a line of JSON [{name, type}], then JSON arrays of rows, a line a row group. type: STRING, DOUBLE, INT64 (as text).
import { createReadStream, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileWriter, ParquetWriter } from "hyparquet-writer";

const output = process.argv[2];
const converted = (type, value) => (value === null ? undefined : type === "INT64" ? BigInt(value) : value);

try {
  let columns, parquet;
  for await (const line of createInterface({ input: createReadStream(process.argv[3]), crlfDelay: Infinity })) {
    if (!columns) {
      columns = JSON.parse(line);
      const schema = [{ name: "root", num_children: columns.length }, ...columns.map(({ name, type }) => ({
        name, repetition_type: "OPTIONAL", ...(type === "STRING" ? { type: "BYTE_ARRAY", converted_type: "UTF8" } : { type }),
      }))];
      parquet = new ParquetWriter({ writer: fileWriter(output), schema });
      continue;
    }
    const rows = JSON.parse(line);
    parquet.write({ columnData: columns.map(({ name, type }, i) => ({ name, data: rows.map((row) => converted(type, row[i])) })), rowGroupSize: rows.length });
  }
  parquet.finish();
} catch (error) {
  rmSync(output, { force: true });
  console.error(String(error.message ?? error));
  process.exit(1);
}
