import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.FileLogInputStream.FileChannelRecordBatch;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.api.WriteSupport;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.io.api.RecordConsumer;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;

/**
 * Kafka's own reader of segments and Parquet's own writer, and nothing else: a thread per core, a
 * file per segment, no commit, no table of what was damaged or is missing.
 *
 * usage: java -cp JARS PlainWriter THREADS SEGMENT...
 * Each line of stdin names a folder to write to; the answer is a line, too. It is compiled against
 * kafka-clients 3.9, in which the record classes are still public.
 */
public class PlainWriter {
    private static final MessageType SCHEMA = MessageTypeParser.parseMessageType("""
        message records {
          required int32 partition;
          required int64 offset;
          required int64 timestamp (TIMESTAMP(MICROS, true));
          optional binary key;
          optional binary value;
          optional group headers (LIST) {
            repeated group list {
              required group element { required binary key (STRING); optional binary value; }
            }
          }
        }""");

    public static void main(String[] arguments) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(Integer.parseInt(arguments[0]));
        List<String> segments = List.of(arguments).subList(1, arguments.length);
        BufferedReader folders = new BufferedReader(new InputStreamReader(System.in));
        for (String folder = folders.readLine(); folder != null; folder = folders.readLine()) {
            String target = folder;
            List<Callable<Void>> tasks = new ArrayList<>();
            for (String segment : segments) {
                tasks.add(() -> write(new File(segment), target));
            }
            for (Future<Void> task : threads.invokeAll(tasks)) {
                task.get();
            }
            System.out.println("{\"done\": true}");
        }
        threads.shutdown();
    }

    private static Void write(File segment, String folder) throws Exception {
        String log = segment.getParentFile().getName();
        int partition = Integer.parseInt(log.substring(log.lastIndexOf('-') + 1));
        Path path = new Path("file:" + folder + "/" + log + "-" + segment.getName() + ".parquet");
        try (FileRecords records = FileRecords.open(segment, false);
             ParquetWriter<Record> writer = new Builder(path, partition).build();
             BufferSupplier buffers = BufferSupplier.create()) {
            for (FileChannelRecordBatch batch : records.batches()) {
                batch.ensureValid();
                if (batch.isControlBatch()) {
                    continue;
                }
                try (CloseableIterator<Record> found = batch.streamingIterator(buffers)) {
                    while (found.hasNext()) {
                        writer.write(found.next());
                    }
                }
            }
        }
        return null;
    }

    private static class Builder extends ParquetWriter.Builder<Record, Builder> {
        private final int partition;

        Builder(Path path, int partition) {
            super(path);
            this.partition = partition;
            Configuration level = new Configuration();
            level.set("parquet.compression.codec.zstd.level", "1");
            withConf(level).withCompressionCodec(CompressionCodecName.ZSTD);
            withDictionaryEncoding(false).withRowGroupSize(64L << 20);
        }

        @Override
        protected Builder self() {
            return this;
        }

        @Override
        protected WriteSupport<Record> getWriteSupport(Configuration configuration) {
            return new Rows(partition);
        }
    }

    private static class Rows extends WriteSupport<Record> {
        private final int partition;
        private RecordConsumer row;

        Rows(int partition) {
            this.partition = partition;
        }

        @Override
        public WriteContext init(Configuration configuration) {
            return new WriteContext(SCHEMA, Map.of());
        }

        @Override
        public void prepareForWrite(RecordConsumer consumer) {
            row = consumer;
        }

        @Override
        public void write(Record record) {
            row.startMessage();
            row.startField("partition", 0);
            row.addInteger(partition);
            row.endField("partition", 0);
            row.startField("offset", 1);
            row.addLong(record.offset());
            row.endField("offset", 1);
            row.startField("timestamp", 2);
            row.addLong(record.timestamp() * 1000);
            row.endField("timestamp", 2);
            write("key", 3, record.key());
            write("value", 4, record.value());
            Header[] headers = record.headers();
            if (headers.length > 0) {
                write(headers);
            }
            row.endMessage();
        }

        private void write(Header[] headers) {
            row.startField("headers", 5);
            row.startGroup();
            row.startField("list", 0);
            for (Header header : headers) {
                row.startGroup();
                row.startField("element", 0);
                row.startGroup();
                row.startField("key", 0);
                row.addBinary(Binary.fromString(header.key()));
                row.endField("key", 0);
                byte[] value = header.value();
                write("value", 1, value == null ? null : ByteBuffer.wrap(value));
                row.endGroup();
                row.endField("element", 0);
                row.endGroup();
            }
            row.endField("list", 0);
            row.endGroup();
            row.endField("headers", 5);
        }

        private void write(String field, int index, ByteBuffer bytes) {
            if (bytes != null) {
                row.startField(field, index);
                row.addBinary(copied(bytes));
                row.endField(field, index);
            }
        }

        private static Binary copied(ByteBuffer bytes) {
            byte[] copy = new byte[bytes.remaining()];
            bytes.get(copy);
            return Binary.fromConstantByteArray(copy);
        }
    }
}
