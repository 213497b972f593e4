"""Finds the JARs with which Spark reads lakes on S3, or fetches them once.

Hadoop's S3A depends on Amazon's whole SDK, one JAR of 686 MB. The parts of the SDK that S3A uses
have 14 MB. The list below omits only JARs that come with Spark.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from seglake.environment.errors import S3JarsError
from seglake.environment.jar_fetch import FOLDER_VARIABLE, Jar, NotFetchedError, fetched, print_jars
from seglake.environment.spark_home import hadoop_version

_HADOOP_VERSION = "3.5.0"  # Spark's version of Hadoop
_SDK_VERSION = "2.35.4"
_SDK = "software.amazon.awssdk"

# Modules of the SDK, each with the SHA-256 of its JAR.
_PARTS_OF_SDK = """\
annotations 6f36bd87155d1dd85d6efbdd29e532e3759a022211feb71affebee1aa34f04b8
apache-client 6eade21b482724ed0a4613eaa95d20e47e7a81304bd28538ac427fece94a7740
arns c63cc29f76a8527e9e10b621703163df541dc5cb315508dc2898518602c75380
auth 6b601323004833fb4a857ffc95db4795e0e6320eb93e64b1246c655c9ff04994
aws-core fdb5fc8f1a48d97fa7d04d3460fb42f6973c7b1bbe1b9d317871ef0162bcb623
aws-query-protocol 9b4cf9b78977cc9f5b4ceae9c435dedbde6a055a0f8d9e053eaca945715e2a9f
aws-xml-protocol 4f59176da2522c357b1993e4a890fde529f12f365795ef86269bde4a3984cd0d
checksums 94464af4374d08ecf33ca06ed4d03e1615529e547726e26b56abacefbeee7948
checksums-spi 88b5af85ac2d3c862be8856be4e683ab31932e4a5a3c1c45af864d2671ac7cec
crt-core 2c6aaa17bf9ccbb9d962dded4351e73decb197e3c5519970e0dae17e05d3df62
endpoints-spi ef02441bda916959b8341290b49c68cc35538e1ad6f8629b75d8334dc6653e00
http-auth 3ec933a06e751a05e195eb3589209e23c44e1897263b6fcae34ef4cc63cd4491
http-auth-aws c4acb92fdec90bfd9b67bfab8e41b69cd152c03cacc10281a8ab464791856e01
http-auth-aws-eventstream 709107552f302be3fa9e05969a3779f5c0f07fb809e6fa1fa571a6f0c61326dd
http-auth-spi 4495463406bb98eb136f2c3f3604ed5f08ec9974ebc3f34f2121b20679f61d5c
http-client-spi 728be89b2a07b595edb0adee3a2cbbbdd4cb1f4caddde0d08c3979fe2620dedb
identity-spi 188d73db7d4e2361654bc3c5a1b3eaeb445d0500fb012cc46c5d67975adf97bf
json-utils 80d67a6bb3e7eb49c7d4b6e4ba4c1463ed7da0192b795158328602dc131c5ecc
metrics-spi c2a4ee90a21081317e2e6eba0c414d05d3d518aed2f86b1c1710a7367b450487
netty-nio-client b82f8b33e5c85273a47da45ede884d7ccb31c9c2f69e6910a76c5c48fa1275dc
profiles 0f4ef7ca72ccd80dd49ebeaf7f3ce60a7d7a00da59a91aeeae6e91052bbacbd8
protocol-core f2532eca6ba2142fe4821d5decb03c83a3e15dc8bfae2240e7f2efa75f9868b5
regions 77eae87b34ce96ecdf916a9bc06684dbeafcb6d38ef0513285fa5d5d6d41f5ca
retries f99fb2f8c66d7e859955b3542d3af8f9de8f23a21d5e3250f0f2c5f18487e469
retries-spi 668638751d059c527ddd41ffa4dcebe36a7c14860ed56776df09b861c14dc7dd
s3 f23532c5223be9b0bfec0d72837ed09ed34dbdf8022818ba145b20076a78b4bc
s3-transfer-manager 0eec78870b3d0abc509a847072cf963cb2ae6e360dc6161a9449b3398c470476
sdk-core fa559a4ce598852f3519c8f3b36250f583b0858a7611eedc4a81997778c617f4
sts 8d0f7816d3f96e3f00249f5d054d926e939a104bcf9ef57676ee0b16c59684d2
third-party-jackson-core 32f4252c6c2df8f3a4aff885e6dc77024ad6b4cb48455d07b461ec30c41643ea
utils 642aeef536a071668f0b772f05f9d21573abf6955e7b6fb5fdb893760cca10e8
utils-lite e004806def5e22ec98edc48a133ff3317166255e1ba29d93d129e9fdfa64a7be
"""


JARS = (
    Jar(
        "software.amazon.s3.analyticsaccelerator",
        "analyticsaccelerator-s3",
        "1.3.1",
        "4959a9747cbb479c73c3ffbcd479bee5b014f8b2880994585a8693fb9d24675e",
    ),
    Jar(
        "software.amazon.eventstream",
        "eventstream",
        "1.0.1",
        "0c37d8e696117f02c302191b8110b0d0eb20fa412fce34c3a269ec73c16ce822",
    ),
    Jar(
        "org.apache.hadoop",
        "hadoop-aws",
        _HADOOP_VERSION,
        "66bd9eefb938b1a1657487324b63c13df2d8b17164a1dd24e0ef37b905bc5baa",
    ),
    Jar(
        "org.reactivestreams",
        "reactive-streams",
        "1.0.4",
        "f75ca597789b3dac58f61857b9ac2e1034a68fa672db35055a8fb4509e325f28",
    ),
    Jar(
        "org.wildfly.openssl",
        "wildfly-openssl",
        "2.2.5.Final",
        "71fb7932f99a727edb23c5a2cb8c6855ac7196fad41aa0669b3998e277165154",
    ),
    *(
        Jar(_SDK, line.split()[0], _SDK_VERSION, line.split()[1])
        for line in _PARTS_OF_SDK.splitlines()
    ),
)


def s3_jars(environment: Mapping[str, str], spark_home: Path) -> list[Path]:
    """Return the JARs that Spark needs; none if Spark or the folder of JARs has them.

    Args:
        environment: the variables of the process, with a JAVA_HOME that works.
        spark_home: folder of Spark, with its `jars`.

    Raises:
        S3JarsError: the JARs are missing and cannot be fetched.
        AlteredJarError: a fetched JAR has an unexpected checksum.
    """
    if folder := environment.get(FOLDER_VARIABLE):
        if not any(Path(folder).glob("hadoop-aws-*.jar")):
            raise S3JarsError(
                f"{FOLDER_VARIABLE} names {folder}, but no hadoop-aws-{_HADOOP_VERSION}.jar is"
                " there, which Spark needs to read a lake on S3. Put it there with the JARs that it"
                f" needs, or unset {FOLDER_VARIABLE} to have all of them fetched."
            )
        return []
    if any((spark_home / "jars").glob("hadoop-aws-*.jar")):
        return []
    hadoop = hadoop_version(spark_home)
    if hadoop not in (None, _HADOOP_VERSION):
        raise S3JarsError(
            f"this Spark has Hadoop {hadoop}, and seglake knows the JARs for S3 of Hadoop"
            f" {_HADOOP_VERSION} only: query with --engine duckdb, or name them with --set"
            f" spark.properties.spark.jars.packages=org.apache.hadoop:hadoop-aws:{hadoop}"
        )
    try:
        return fetched(JARS, f"s3a-{_HADOOP_VERSION}-{_SDK_VERSION}", environment, spark_home)
    except NotFetchedError as error:
        raise S3JarsError(
            f"reading a lake on S3 with Spark needs hadoop-aws-{_HADOOP_VERSION}.jar and the parts"
            f" of Amazon's SDK {_SDK_VERSION} that it uses, and {error}. Without access to the"
            " internet, put them into a folder, together with the JARs of Delta, and name it in"
            f" {FOLDER_VARIABLE}."
        ) from error


def main() -> int:
    """Print the JARs in the form of spark-submit's `--jars`; return the exit code."""
    return print_jars(s3_jars, ",")


if __name__ == "__main__":
    sys.exit(main())
