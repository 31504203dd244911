# cmake -DINPUT=schema.sql -DOUTPUT=schema_text.cpp -DHEADER=... -DNAME=... -P embed.cmake
# Writes a text file into the program as a string constant.
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "#include \"${HEADER}\"\n\nnamespace dvfs_plan {\nconst char* const ${NAME} = R\"embedded(${text})embedded\";\n}  // namespace dvfs_plan\n")
